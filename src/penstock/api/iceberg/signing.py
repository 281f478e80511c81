"""Remote signing: signs a client's request to the S3 endpoint, so that the client needs no credentials for the lake.

The signature is that of a session of the caller; under a table's path the session is limited to the table's objects, so
that the S3 endpoint itself refuses all others.

Source: Iceberg's S3 signer specification (``s3-signer-open-api``); Amazon S3 API reference, "Authenticating Requests (AWS
Signature Version 4)".
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

from penstock.access.sessions import TemporaryKey
from penstock.access.sigv4 import ALGORITHM, SignedRequest, canonical_request, signing_key
from penstock.api.iceberg.call import Answer, Call
from penstock.api.iceberg.credentials import SIGNER, scoped_key
from penstock.api.iceberg.errors import UnknownPath
from penstock.api.iceberg.lookup import load
from penstock.api.iceberg.routes import PREFIX, Route
from penstock.errors import InvalidInput
from penstock.lake.iceberg.documents import text

__all__ = ["routes", "sign"]

_UNSIGNED = "UNSIGNED-PAYLOAD"
_METHODS = frozenset({"GET", "HEAD", "PUT", "POST", "DELETE"})
_MAX_HEADERS = 100
# Clients and proxies change these on the way.
_NOT_SIGNED = frozenset({"authorization", "connection", "expect", "user-agent", "x-amzn-trace-id", "transfer-encoding"})


def routes() -> list[Route]:
    """Return the routes of the signer: the one that clients use by default, and one for each table."""
    one = f"{PREFIX}/namespaces/{{namespace}}/tables/{{table}}/sign"
    return [
        Route(method="POST", path=f"/{SIGNER}", name="SignRequest", handler=_sign),
        Route(method="POST", path=one, name="SignTableRequest", handler=_sign_for_table),
    ]


def sign(key: TemporaryKey, method: str, uri: str, headers: Mapping[str, str], *, region: str) -> dict[str, str]:
    """Return ``headers`` (lower case) with those of the signature of a request to S3."""
    parts = urlsplit(uri)
    now = datetime.now(UTC)
    stamp, date = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    signed_headers = {name: value for name, value in headers.items() if name not in _NOT_SIGNED}
    signed_headers |= {"host": parts.netloc, "x-amz-date": stamp, "x-amz-security-token": key.token}
    signed_headers.setdefault("x-amz-content-sha256", _UNSIGNED)
    names = sorted(signed_headers)
    path = quote(unquote_to_bytes(parts.path or "/"), safe="/-_.~")
    request = SignedRequest(method=method, path=path, query=parts.query, headers=signed_headers, body=b"")
    canonical = canonical_request(request, names, signed_headers["x-amz-content-sha256"], service="s3")
    scope = f"{date}/{region}/s3/aws4_request"
    to_sign = f"{ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    derived = signing_key(key.secret_access_key, date, region, "s3")
    signature = hmac.digest(derived, to_sign.encode(), "sha256").hex()
    credential = f"Credential={key.access_key_id}/{scope}"
    signed_headers["authorization"] = f"{ALGORITHM} {credential}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return signed_headers


def _sign(call: Call) -> Answer:
    if call.vendor is None:
        raise _unavailable()
    return _signed(call, call.vendor.unscoped(call.caller))


def _sign_for_table(call: Call) -> Answer:
    database, name = call.database, call.table
    call.access.check("GetTable", {"DatabaseName": database, "Name": name})
    _, loaded = load(call, database, name)
    key = scoped_key(call, database, name, loaded.document)
    if key is None:
        raise _unavailable()
    return _signed(call, key)


def _signed(call: Call, key: TemporaryKey) -> Answer:
    request = call.document
    method, uri = text(request, "method", "the request").upper(), text(request, "uri", "the request")
    endpoint = call.settings.s3_endpoint_url
    if endpoint is None:
        raise _unavailable()
    target, served = urlsplit(uri), urlsplit(endpoint)
    if (target.scheme, target.netloc) != (served.scheme, served.netloc):
        raise InvalidInput(
            f"Only requests to {endpoint} are signed, not to {target.scheme}://{target.netloc}"[:300] + ".",
            remedy="Set s3.endpoint to it, and s3.path-style-access to true.",
        )
    if method not in _METHODS:
        raise InvalidInput(f"The method {method[:20]!r} is not one of {', '.join(sorted(_METHODS))}.")
    headers = sign(key, method, uri, _headers(request.get("headers") or {}), region=call.settings.region)
    body = {"uri": uri, "headers": {name: [value] for name, value in headers.items()}}
    return Answer(body, headers={"cache-control": "no-cache"})


def _headers(sent: Any) -> dict[str, str]:
    if not isinstance(sent, dict) or len(sent) > _MAX_HEADERS:
        raise InvalidInput(f"'headers' is not an object with at most {_MAX_HEADERS} members.")
    headers: dict[str, str] = {}
    for name, values in sent.items():
        listed = values if isinstance(values, list) else [values]
        if not all(isinstance(item, str) and item.isprintable() for item in listed):
            raise InvalidInput(f"The header '{name[:100]}' is not a list of strings.")
        headers[name.lower()] = ",".join(listed)
    return headers


def _unavailable() -> UnknownPath:
    return UnknownPath(
        "Requests to S3 cannot be signed for this caller.",
        remedy="It needs an S3 endpoint, a caller of the catalog's own account, and no session policy.",
    )

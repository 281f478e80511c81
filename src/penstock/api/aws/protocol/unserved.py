"""Rejects requests that are signed for another service of AWS, in that service's protocol.

A client whose endpoint points here by mistake (S3, DynamoDB, Lambda) gets an error in AWS's shape that names the service,
instead of one of Confluent's registry. Only the headers of such a request are read: the service is in the credential scope
of Signature Version 4 (IAM user guide, "Elements of an AWS API request signature").
"""

import re
import time
from collections.abc import Mapping
from functools import lru_cache
from html import escape
from typing import NamedTuple
from urllib.parse import unquote_to_bytes
from uuid import uuid4

import orjson

from penstock.api.aws.protocol.dispatch import Receive, Scope, Send
from penstock.api.aws.protocol.models import SERVICES, load_model
from penstock.api.body import Unread
from penstock.api.observer import CompletedRequest, Observer
from penstock.errors import OperationNotServed

__all__ = ["UnservedServices", "signed_service"]

_MAX_CREDENTIAL = 400
_SERVICE = re.compile(rb"[A-Za-z0-9-]{1,40}")
_REST_XML = frozenset({"cloudfront", "route53", "s3", "s3-object-lambda", "s3-outposts", "s3express"})


class ServiceNotServed(OperationNotServed):
    """The request is for a service of AWS that this server does not serve."""

    def __init__(self, service: str) -> None:
        super().__init__(
            f"{service} is a service of AWS that Penstock does not serve.",
            remedy=f"Give this client another endpoint: Penstock serves {', '.join(SERVICES)}.",
        )


class _Answer(NamedTuple):
    status: int
    code: str
    body: bytes
    headers: list[tuple[bytes, bytes]]


def signed_service(scope: Scope) -> str | None:
    """Return the service in a request's credential scope; None if it is not signed as by AWS's clients."""
    # This runs for every request, so it compares bytes without decoding them.
    credential = b""
    for name, value in scope["headers"]:
        if name == b"authorization":
            if value.startswith(b"AWS4-"):
                credential = value.partition(b"Credential=")[2][:_MAX_CREDENTIAL].partition(b",")[0]
            break
    query = scope["query_string"]
    if query and not credential and b"X-Amz-Credential=" in query:
        hoisted = query.partition(b"X-Amz-Credential=")[2][:_MAX_CREDENTIAL].partition(b"&")[0]
        credential = unquote_to_bytes(hoisted)
    return _service_in(credential) if credential else None


@lru_cache(maxsize=1024)
def _service_in(credential: bytes) -> str | None:
    # The access key's id may have a slash in it; the last four parts are date, region, service and aws4_request.
    parts = credential.strip().rsplit(b"/", 4)
    return parts[3].decode() if len(parts) == 5 and _SERVICE.fullmatch(parts[3]) else None


class UnservedServices:
    """An ASGI application that rejects requests for other services, and reports them to ``observer``."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        models = [load_model(name) for name in SERVICES]
        self._served = frozenset(model.signing_name for model in models)
        self._with_paths = frozenset(model.signing_name for model in models if model.rest)

    def takes(self, scope: Scope) -> bool:
        """Return whether the request is signed for a service of AWS that is not served here, or not under this path."""
        service = signed_service(scope)
        return service is not None and (
            service not in self._served or (scope["path"] != "/" and service not in self._with_paths)
        )

    def has_paths(self, scope: Scope) -> bool:
        """Return whether the request is signed for a service that is served and whose operations are paths."""
        return signed_service(scope) in self._with_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject the request."""
        started = time.perf_counter()
        self._observer.started()
        request_id = str(uuid4())
        service = signed_service(scope) or "unknown"
        answer = _answer(scope, service, request_id)
        # The caller is not authenticated, so the body is not read.
        unread = Unread({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
        headers = [*answer.headers, (b"content-length", str(len(answer.body)).encode())]
        headers += [(b"x-amzn-requestid", request_id.encode()), (b"x-amzn-errortype", answer.code.encode())]
        if unread.closes:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body, "more_body": unread.pending})
        if unread.pending:
            await unread.drop(receive)
            await send({"type": "http.response.body", "body": b""})
        client = scope.get("client")
        seconds = time.perf_counter() - started
        self._observer.finished(
            CompletedRequest(
                "unknown", "unknown", answer.code, answer.status, seconds, "-", request_id, client[0] if client else "-"
            )
        )


def _answer(scope: Scope, service: str, request_id: str) -> _Answer:
    error = ServiceNotServed(service)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    if headers.get("smithy-protocol") == "rpc-v2-cbor":
        body = b"\xa2" + b"".join(_cbor(text) for text in ("__type", error.aws_code, "message", str(error)))
        return _Answer(
            400, error.aws_code, body, [(b"content-type", b"application/cbor"), (b"smithy-protocol", b"rpc-v2-cbor")]
        )
    if service in _REST_XML:
        details = f"<Code>NotImplemented</Code><Message>{escape(str(error))}</Message>"
        text = f"<Error>{details}<RequestId>{request_id}</RequestId></Error>"
        if service in ("cloudfront", "route53"):
            text = f"<ErrorResponse>{text}</ErrorResponse>"
        return _xml(501, "NotImplemented", text)
    if _is_query(scope, headers):
        text = f"<Error><Code>InvalidAction</Code><Message>{escape(str(error))}</Message></Error>"
        if service == "ec2":
            return _xml(
                400, "InvalidAction", f"<Response><Errors>{text}</Errors><RequestID>{request_id}</RequestID></Response>"
            )
        return _xml(400, "InvalidAction", f"<ErrorResponse>{text}<RequestId>{request_id}</RequestId></ErrorResponse>")
    sent_type = headers.get("content-type", "")
    content_type = (
        sent_type if "x-amz-target" in headers and sent_type.startswith("application/x-amz-json-1.") else "application/json"
    )
    body = orjson.dumps({"__type": error.aws_code, "message": str(error)})
    return _Answer(error.http_status, error.aws_code, body, [(b"content-type", content_type[:60].encode("latin-1"))])


def _is_query(scope: Scope, headers: Mapping[str, str]) -> bool:
    form = headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return scope["path"] == "/" and (form or b"Action=" in scope["query_string"])


def _xml(status: int, code: str, text: str) -> _Answer:
    return _Answer(status, code, f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode(), [(b"content-type", b"text/xml")])


def _cbor(text: str) -> bytes:
    """Return a string of up to 65,535 bytes in CBOR (RFC 8949, section 3.1: major type 3)."""
    encoded = text.encode()
    return (bytes([0x60 | len(encoded)]) if len(encoded) < 24 else b"\x79" + len(encoded).to_bytes(2, "big")) + encoded

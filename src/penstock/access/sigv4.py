"""Signature Version 4 as pure functions: parse a request's claim, and check its signature.

Source: AWS Identity and Access Management user guide, "Create a signed AWS API request"; error texts are those of AWS's
services. All times are aware UTC datetimes.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote_plus

from penstock.access.errors import IncompleteSignature, InvalidSignature, MissingAuthentication

__all__ = [
    "ALGORITHM",
    "MAX_EXPIRES",
    "MAX_SKEW",
    "Claim",
    "SignedRequest",
    "canonical_request",
    "check_claim",
    "check_signature",
    "is_unsigned",
    "read_claim",
    "signing_key",
]

ALGORITHM = "AWS4-HMAC-SHA256"
MAX_SKEW = timedelta(minutes=5)
MAX_EXPIRES = 604_800  # seconds: seven days, the longest a presigned URL may live

_TERMINATOR = "aws4_request"
_BASIC_TIME = re.compile(r"\d{8}T\d{6}Z", re.ASCII)
_BASIC_LENGTH = 16
_PLAIN_START = re.compile(rf"{ALGORITHM} Credential=([^\s,=]+), ?SignedHeaders=([^\s,=]+), ?")
_SPACES = re.compile(r"\s+")
_MAX_SIGNED_HEADERS = 100
_MAX_CACHED = 1024  # characters of a credential and its header names that are worth caching
# An attacker who changes one of these after signing would change the operation, the time or the caller.
_MUST_BE_SIGNED = ("x-amz-date", "x-amz-security-token", "x-amz-target")
_SIGNATURE_MISMATCH = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
    "and signing method. Consult the service documentation for details."
)


class SignedRequest(NamedTuple):
    """What a signature covers. ``path`` and ``query`` are raw, as they were sent; header names are lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


class Claim(NamedTuple):
    """What a request says about its signature, parsed and not verified yet."""

    access_key_id: str
    date: str
    region: str
    service: str
    terminator: str
    time: datetime
    stamp: str
    """``time`` in ISO 8601's basic format, as the string to sign has it."""
    signed_headers: Sequence[str]
    signature: str
    token: str | None = None
    expires: int | None = None
    """Seconds for which a presigned URL is valid; None for a signature in the Authorization header."""

    @property
    def scope(self) -> str:
        """The credential scope: ``20261121/us-east-1/glue/aws4_request``."""
        return f"{self.date}/{self.region}/{self.service}/{self.terminator}"


def is_unsigned(request: SignedRequest) -> bool:
    """Return whether the request has no signature."""
    return "authorization" not in request.headers and "X-Amz-Signature=" not in request.query


def read_claim(request: SignedRequest) -> Claim:
    """Return the claim in the Authorization header or in the query.

    Raises :class:`MissingAuthentication` if there is none, and :class:`IncompleteSignature` if it cannot be parsed.
    """
    authorization = request.headers.get("authorization")
    if authorization is not None:
        return _header_claim(authorization, request.headers)
    if "X-Amz-Signature=" in request.query or "X-Amz-Algorithm=" in request.query:
        return _query_claim(request.query)
    raise MissingAuthentication("Missing Authentication Token")


def check_claim(claim: Claim, request: SignedRequest, *, service: str, region: str, now: datetime) -> None:
    """Raise :class:`InvalidSignature` unless scope, time and the list of signed headers are right.

    ``service`` is the signing name of the request's service, ``region`` this server's.
    """
    if claim.terminator != _TERMINATOR:
        raise InvalidSignature(
            f"Credential should be scoped with a valid terminator: '{_TERMINATOR}', not '{claim.terminator[:100]}'."
        )
    if claim.region != region:
        raise InvalidSignature(
            f"Credential should be scoped to a valid region, not '{claim.region[:100]}'.",
            remedy=f"This server's region is {region}: set AWS_REGION={region}.",
        )
    if claim.service != service:
        raise InvalidSignature(f"Credential should be scoped to correct service: '{service}'.")
    _check_time(claim, now)
    _check_signed_headers(claim, request)


def check_signature(
    claim: Claim, request: SignedRequest, secret_access_key: str, *, payload_hash: str | None = None
) -> None:
    """Raise :class:`InvalidSignature` unless the signature is the one that the secret gives for this request.

    ``payload_hash`` replaces the SHA-256 of a body that has not been read yet, in hexadecimal digits.
    """
    body_hash = hashlib.sha256(request.body).hexdigest() if payload_hash is None else payload_hash
    declared = request.headers.get("x-amz-content-sha256")
    if declared is not None and not _declares(declared, body_hash):
        raise InvalidSignature(
            "The value passed in as x-amz-content-sha256 does not match the payload.",
            remedy="Sign the payload: this endpoint does not accept unsigned or streamed payloads.",
        )
    canonical = canonical_request(request, claim.signed_headers, body_hash, service=claim.service)
    to_sign = f"{ALGORITHM}\n{claim.stamp}\n{claim.scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = signing_key(secret_access_key, claim.date, claim.region, claim.service)
    expected = hmac.digest(key, to_sign.encode(), "sha256").hex()
    if not hmac.compare_digest(expected.encode(), claim.signature.encode()):
        raise InvalidSignature(
            f"{_SIGNATURE_MISMATCH}\n\nThe Canonical String for this request should have been\n'{canonical[:8192]}'\n\n"
            f"The String-to-Sign should have been\n'{to_sign}'\n"
        )


def _declares(declared: str, body_hash: str) -> bool:
    """Return whether a header names the body's hash: in hexadecimal digits, or in base64, as Iceberg's clients do."""
    if hmac.compare_digest(declared.encode(), body_hash.encode()):
        return True
    return hmac.compare_digest(declared.encode(), base64.b64encode(bytes.fromhex(body_hash)))


@lru_cache(maxsize=1024)
def signing_key(secret_access_key: str, date: str, region: str, service: str) -> bytes:
    """Return the key derived for one day, region and service; cached, because deriving it costs four digests."""
    key = f"AWS4{secret_access_key}".encode()
    for part in (date, region, service, _TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def canonical_request(request: SignedRequest, signed_headers: Sequence[str], payload_hash: str, *, service: str) -> str:
    """Return the canonical request. The path is normalised and encoded once more for every service but S3."""
    path = request.path or "/"
    if path != "/" and service != "s3":
        path = quote(_normalised(path), safe="/~")
    query = _canonical_query(request.query) if request.query else ""
    headers = request.headers
    lines = "".join([f"{name}:{_collapsed(headers.get(name, ''))}\n" for name in signed_headers])
    return f"{request.method}\n{path}\n{query}\n{lines}\n{';'.join(signed_headers)}\n{payload_hash}"


def _collapsed(value: str) -> str:
    return _SPACES.sub(" ", value.strip()) if " " in value or "\t" in value else value


def _normalised(path: str) -> str:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if segments:
                segments.pop()
        elif segment and segment != ".":
            segments.append(segment)
    return "/" + "/".join(segments) + ("/" if segments and path.endswith("/") else "")


def _canonical_query(query: str) -> str:
    # A plus is a space, as when the query is parsed: a signed plus, %2B, must not match it.
    pairs = []
    for pair in query.split("&"):
        # An item without a name is a parameter, too, for parsers of queries and for signers such as botocore.
        name, _, value = pair.partition("=")
        if name != "X-Amz-Signature":
            pairs.append((quote(unquote_plus(name), safe="-_.~"), quote(unquote_plus(value), safe="-_.~")))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _header_claim(authorization: str, headers: Mapping[str, str]) -> Claim:
    date_header = headers.get("x-amz-date") or headers.get("date")
    start, _, signature = authorization.rpartition("Signature=")
    constant = _constant_fields(start) if len(start) <= _MAX_CACHED else None
    if constant is None or not date_header or not signature.isalnum():
        fields = _fields(authorization, date_header)
        constant, signature = (fields["Credential"], fields["SignedHeaders"]), fields["Signature"]
    return _claim(
        credential=constant[0],
        signed_headers=constant[1],
        signature=signature,
        time=date_header or "",
        token=headers.get("x-amz-security-token"),
    )


@lru_cache(maxsize=1024)
def _constant_fields(start: str) -> tuple[str, str] | None:
    """Return Credential and SignedHeaders if a header has only them before its Signature: they stay the same all day."""
    plain = _PLAIN_START.fullmatch(start)
    return None if plain is None else (plain[1], plain[2])


def _fields(authorization: str, date_header: str | None) -> dict[str, str]:
    algorithm, _, rest = authorization.strip().partition(" ")
    if algorithm != ALGORITHM:
        raise IncompleteSignature(
            f"Unsupported AWS 'algorithm': '{algorithm[:50]}'.", remedy=f"Sign with Signature Version 4 ({ALGORITHM})."
        )
    fields: dict[str, str] = {}
    for part in rest.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name in fields:
            raise IncompleteSignature(
                f"'{part.strip()[:100]}' not a valid key=value pair (missing equal-sign) in Authorization header."
            )
        fields[name] = value
    missing = [name for name in ("Credential", "Signature", "SignedHeaders") if not fields.get(name)]
    if missing or not date_header:
        problems = [f"Authorization header requires '{name}' parameter." for name in missing]
        if not date_header:
            problems.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
        raise IncompleteSignature(" ".join(problems))
    return fields


def _query_claim(query: str) -> Claim:
    fields: dict[str, str] = {}
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if name.startswith("X-Amz-"):
            if name in fields:
                raise IncompleteSignature(f"AWS query-string parameter '{name[:50]}' is given twice.")
            fields[name] = unquote_plus(value)
    names = ("Algorithm", "Credential", "Signature", "SignedHeaders", "Date", "Expires")
    missing = [f"X-Amz-{name}" for name in names if not fields.get(f"X-Amz-{name}")]
    if missing:
        raise IncompleteSignature(" ".join(f"AWS query-string parameters must include '{name}'." for name in missing))
    if fields["X-Amz-Algorithm"] != ALGORITHM:
        raise IncompleteSignature(f"Unsupported AWS 'algorithm': '{fields['X-Amz-Algorithm'][:50]}'.")
    expires = fields["X-Amz-Expires"]
    is_number = len(expires) <= 10 and expires.isascii() and expires.isdigit()
    if not is_number or not 1 <= int(expires) <= MAX_EXPIRES:
        raise IncompleteSignature(f"X-Amz-Expires must be a number of seconds from 1 to {MAX_EXPIRES}.")
    return _claim(
        credential=fields["X-Amz-Credential"],
        signed_headers=fields["X-Amz-SignedHeaders"],
        signature=fields["X-Amz-Signature"],
        time=fields["X-Amz-Date"],
        token=fields.get("X-Amz-Security-Token"),
        expires=int(expires),
    )


def _claim(
    *, credential: str, signed_headers: str, signature: str, time: str, token: str | None, expires: int | None = None
) -> Claim:
    scope = _scope if len(credential) + len(signed_headers) <= _MAX_CACHED else _scope.__wrapped__
    (access_key_id, date, region, service, terminator), names = scope(credential, signed_headers)
    moment, stamp = _parsed_time(time)
    return Claim(
        access_key_id=access_key_id,
        date=date,
        region=region,
        service=service,
        terminator=terminator,
        time=moment,
        stamp=stamp,
        signed_headers=names,
        signature=signature,
        token=token,
        expires=expires,
    )


@lru_cache(maxsize=1024)
def _scope(credential: str, signed_headers: str) -> tuple[tuple[str, str, str, str, str], tuple[str, ...]]:
    """Return the five parts of a credential and the names of the signed headers: the same all day for one client."""
    parts = credential.rsplit("/", 4)
    if len(parts) != 5 or not all(parts):
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credential[:200]}'"
        )
    names = tuple(signed_headers.split(";"))
    if len(names) > _MAX_SIGNED_HEADERS or list(names) != sorted(set(names)) or signed_headers != signed_headers.lower():
        raise IncompleteSignature("'SignedHeaders' must be lower case, sorted, and name each header once.")
    access_key_id, date, region, service, terminator = parts
    return (access_key_id, date, region, service, terminator), names


def _parsed_time(text: str) -> tuple[datetime, str]:
    try:
        basic = _utc(text) if len(text) == _BASIC_LENGTH else None
        if basic is not None:
            return basic, text
        moment = parsedate_to_datetime(text[:100])
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise IncompleteSignature(
            f"Date must be in ISO-8601 'basic format'. Got '{text[:50]}'. See http://en.wikipedia.org/wiki/ISO_8601"
        ) from None
    return moment, _basic(moment)


@lru_cache(maxsize=64)
def _utc(text: str) -> datetime | None:
    if _BASIC_TIME.fullmatch(text) is None:
        return None
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def _basic(moment: datetime) -> str:
    return f"{moment.year:04}{moment.month:02}{moment.day:02}T{moment.hour:02}{moment.minute:02}{moment.second:02}Z"


def _check_time(claim: Claim, now: datetime) -> None:
    signed = claim.stamp
    if claim.date != signed[:8]:
        raise InvalidSignature(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{claim.date[:20]}' != '{signed[:8]}', from '{signed}'."
        )
    remedy = "Set the client's clock: this server's time is in the answer's Date header."
    if claim.time > now + MAX_SKEW:
        raise InvalidSignature(
            f"Signature not yet current: {signed} is still later than {_basic(now + MAX_SKEW)} ({_basic(now)} + 5 min.)",
            remedy=remedy,
        )
    if claim.expires is not None:
        if claim.time + timedelta(seconds=claim.expires) < now:
            ended = _basic(claim.time + timedelta(seconds=claim.expires))
            raise InvalidSignature(
                f"Signature expired: {ended} is now earlier than {_basic(now)}.", remedy="Presign the URL again."
            )
    elif claim.time < now - MAX_SKEW:
        raise InvalidSignature(
            f"Signature expired: {signed} is now earlier than {_basic(now - MAX_SKEW)} ({_basic(now)} - 5 min.)",
            remedy=remedy,
        )


def _check_signed_headers(claim: Claim, request: SignedRequest) -> None:
    signed, headers = claim.signed_headers, request.headers
    if "host" not in signed:
        raise InvalidSignature("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
    if claim.expires is None and "x-amz-date" not in signed and "date" not in signed:
        raise InvalidSignature("'X-Amz-Date' or 'Date' must be a 'SignedHeader' in the AWS Authorization.")
    for name in _MUST_BE_SIGNED:
        if name in headers and name not in signed:
            raise InvalidSignature(f"'{name}' must be a 'SignedHeader' in the AWS Authorization.")

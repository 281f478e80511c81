"""Who signed a request, by S3's rules of Signature Version 4, and how the signature covers the body.

Source: Amazon S3 API reference, "Authenticating Requests (AWS Signature Version 4)". Beyond AWS, every ``x-amz-*`` header
has to be signed: an attacker who adds ``x-amz-copy-source`` to a signed put would choose what it stores.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote, unquote_to_bytes

from penstock.access.errors import IncompleteSignature, MissingAuthentication
from penstock.access.sigv4 import ALGORITHM, Claim, SignedRequest, canonical_request, read_claim, signing_key
from penstock.lake.objects.errors import S3Error

__all__ = ["MAX_SKEW", "ChunkSigner", "Payload", "check_claim", "check_signature", "payload_of", "read_s3_claim"]

MAX_SKEW = timedelta(minutes=15)
UNSIGNED = "UNSIGNED-PAYLOAD"
_SIGNED_CHUNKS = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_SIGNED_CHUNKS_TRAILER = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
_UNSIGNED_CHUNKS_TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_HASH = re.compile(r"[0-9a-f]{64}")
_EMPTY = hashlib.sha256(b"").hexdigest()
_V2_REMEDY = (
    "Sign with Signature Version 4: in boto3 Config(signature_version='s3v4'), for the AWS CLI "
    "'aws configure set default.s3.signature_version s3v4'."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """What a request announces about its body: ``declared`` is the value that was signed.

    ``sha256`` is the hash of the whole body in hexadecimal digits, if it has one; ``chunked``: it is in AWS's chunks;
    ``signed``: each chunk has a signature; ``trailer``: headers follow it.
    """

    declared: str
    sha256: str | None = None
    chunked: bool = False
    signed: bool = False
    trailer: bool = False


def read_s3_claim(request: SignedRequest) -> Claim:
    """Return the claim of the request; raise :class:`S3Error` if there is none, or one of Signature Version 2."""
    authorization = request.headers.get("authorization")
    if (authorization is not None and authorization.startswith("AWS ")) or (
        authorization is None and re.search(r"(^|&)(AWSAccessKeyId|Signature)=", request.query)
    ):
        raise S3Error(
            "InvalidRequest",
            f"The authorization mechanism you have provided is not supported. Please use {ALGORITHM}.",
            remedy=f"Signature Version 2 is refused: it leaves most of a request unsigned. {_V2_REMEDY}",
        )
    if authorization is not None and "X-Amz-Signature=" in request.query:
        raise S3Error(
            "InvalidArgument",
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature query string parameter or "
            "the Authorization header should be specified",
        )
    try:
        return read_claim(request)
    except MissingAuthentication:
        if request.method == "POST" and request.headers.get("content-type", "").startswith("multipart/form-data"):
            # Its signature is a field of the form, so "not signed" would be a wrong message.
            raise S3Error(
                "NotImplemented",
                "Uploads by an HTML form (POST Object) are not implemented.",
                remedy="Presign a PUT, in boto3 by generate_presigned_url('put_object', ...).",
            ) from None
        raise S3Error(
            "AccessDenied", "Access Denied", remedy="Requests have to be signed: there is no anonymous access."
        ) from None
    except IncompleteSignature as error:
        code = "AuthorizationHeaderMalformed" if authorization is not None else "AuthorizationQueryParametersError"
        raise S3Error(code, error.message, remedy=error.remedy) from None


def check_claim(claim: Claim, request: SignedRequest, *, region: str, now: datetime) -> None:
    """Raise :class:`S3Error` unless scope, time and the list of signed headers are right."""
    code = "AuthorizationHeaderMalformed" if claim.expires is None else "AuthorizationQueryParametersError"
    if claim.terminator != "aws4_request" or claim.service != "s3":
        raise S3Error(code, "The credential has to be scoped to the service 's3' and end in 'aws4_request'.")
    if claim.region != region:
        raise S3Error(
            code,
            f"The authorization header is malformed; the region '{claim.region[:50]}' is wrong; expecting '{region}'",
            remedy=f"Set AWS_REGION={region}.",
            details={"Region": region},
        )
    if claim.date != claim.stamp[:8]:
        raise S3Error(code, "The date of the credential's scope is not that of the request.")
    _check_time(claim, now)
    signed = set(claim.signed_headers)
    unsigned = ["host"] if "host" not in signed else []
    unsigned += sorted(name for name in request.headers if name.startswith("x-amz-") and name not in signed)
    if unsigned:
        raise S3Error(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            remedy=f"Sign {', '.join(unsigned)[:500]}, or leave it out.",
            details={"HeadersNotSigned": ", ".join(unsigned)[:500]},
        )


def _check_time(claim: Claim, now: datetime) -> None:
    details = {
        "RequestTime": claim.stamp,
        "ServerTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "MaxAllowedSkewMilliseconds": str(int(MAX_SKEW.total_seconds() * 1000)),
    }
    if claim.expires is not None:
        if claim.time > now + MAX_SKEW:
            raise S3Error("AccessDenied", "Request is not valid yet", details=details)
        if claim.time + timedelta(seconds=claim.expires) < now:
            raise S3Error("AccessDenied", "Request has expired", remedy="Presign again.", details=details)
    elif abs(claim.time - now) > MAX_SKEW:
        raise S3Error(
            "RequestTimeTooSkewed",
            "The difference between the request time and the current time is too large.",
            remedy="Set the client's clock.",
            details=details,
        )


def payload_of(claim: Claim | None, headers: Mapping[str, str]) -> Payload:
    """Return what the request announces about its body. Without a claim, the body is not signed."""
    declared = headers.get("x-amz-content-sha256")
    if declared is None:
        if claim is not None and claim.expires is None:
            raise S3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
        return Payload(declared=UNSIGNED)
    if declared == UNSIGNED:
        return Payload(declared=declared)
    if declared == _UNSIGNED_CHUNKS_TRAILER:
        return Payload(declared=declared, chunked=True, trailer=True)
    if declared in {_SIGNED_CHUNKS, _SIGNED_CHUNKS_TRAILER}:
        return Payload(declared=declared, chunked=True, signed=True, trailer=declared == _SIGNED_CHUNKS_TRAILER)
    if _HASH.fullmatch(declared):
        return Payload(declared=declared, sha256=declared)
    raise S3Error(
        "InvalidArgument",
        f"x-amz-content-sha256 must be {UNSIGNED}, {_UNSIGNED_CHUNKS_TRAILER}, {_SIGNED_CHUNKS}, {_SIGNED_CHUNKS_TRAILER} "
        "or a valid sha256 value.",
        details={"ArgumentName": "x-amz-content-sha256", "ArgumentValue": declared[:100]},
    )


def check_signature(claim: Claim, request: SignedRequest, payload: Payload, secret_access_key: str) -> None:
    """Raise :class:`S3Error` unless the signature is the one that the secret gives for this request."""
    # The client has to sign the path with every character encoded once, however it sent it.
    path = quote(unquote_to_bytes(request.path), safe="/-_.~")
    canonical = canonical_request(request._replace(path=path), claim.signed_headers, payload.declared, service="s3")
    to_sign = f"{ALGORITHM}\n{claim.stamp}\n{claim.scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = signing_key(secret_access_key, claim.date, claim.region, claim.service)
    expected = hmac.digest(key, to_sign.encode(), "sha256").hex()
    if not hmac.compare_digest(expected.encode(), claim.signature.encode()):
        raise S3Error(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method.",
            details={
                "AWSAccessKeyId": claim.access_key_id,
                "StringToSign": to_sign,
                "SignatureProvided": claim.signature[:200],
                "CanonicalRequest": canonical[:8192],
            },
        )


class ChunkSigner:
    """Checks the signatures of a body's chunks. Each signature covers the one before.

    Source: Amazon S3 API reference, "Signature Calculations for the Authorization Header: Transferring Payload in Multiple
    Chunks". Without a ``secret_access_key``, under --no-auth, nothing is checked.
    """

    def __init__(self, claim: Claim | None, secret_access_key: str) -> None:
        self._claim = claim
        self._last = "" if claim is None else claim.signature
        self._key = b"" if claim is None else signing_key(secret_access_key, claim.date, claim.region, claim.service)

    def check_chunk(self, signature: str, sha256: str) -> None:
        """Raise :class:`S3Error` unless the chunk with that hash (hexadecimal digits) is signed."""
        self._check("PAYLOAD", f"{_EMPTY}\n{sha256}", signature)

    def check_trailer(self, signature: str, canonical: bytes) -> None:
        """Do the same for the headers after the last chunk, each a line of ``name:value``."""
        self._check("TRAILER", hashlib.sha256(canonical).hexdigest(), signature)

    def _check(self, step: str, hashes: str, signature: str) -> None:
        if self._claim is None:
            return
        to_sign = f"AWS4-HMAC-SHA256-{step}\n{self._claim.stamp}\n{self._claim.scope}\n{self._last}\n{hashes}"
        expected = hmac.digest(self._key, to_sign.encode(), "sha256").hex()
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise S3Error(
                "SignatureDoesNotMatch",
                "The signature of a chunk of the body does not match the one you provided. "
                "Check your key and signing method.",
            )
        self._last = expected

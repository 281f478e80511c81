"""Headers that clients often send: accepted if they ask for what this server does anyway, else rejected by name."""

import base64
import contextlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from penstock.api.s3.call import Call, not_implemented
from penstock.lake.objects.attributes import Attributes, ObjectInfo
from penstock.lake.objects.errors import S3Error

__all__ = ["attributes_of", "check_headers", "check_owner", "encryption_of", "object_headers", "parse_tags", "tags_of"]

_STORED = ("cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires")
_MAX_METADATA = 2_048  # bytes of names and values: Amazon S3 user guide, "Working with object metadata"
_MAX_TAGS = 10
_TAG_TEXT = re.compile(r"[\w\s.:/=+\-@]*")
_PUBLIC = {"public-read", "public-read-write", "authenticated-read"}
_PRIVATE_ACLS = {"private", "bucket-owner-full-control", "bucket-owner-read", "aws-exec-read", "log-delivery-write"}
_METADATA = "x-amz-meta-"
_SSE = "x-amz-server-side-encryption"
# By header: its accepted values, the first being the default, and the code and message for others.
_KNOWN_VALUES = {
    _SSE: (("AES256", "aws:kms", "aws:kms:dsse"), "InvalidArgument", "The encryption method specified is not supported"),
    "x-amz-storage-class": (("STANDARD",), "InvalidStorageClass", "The storage class you specified is not valid"),
}


def check_headers(call: Call) -> None:
    """Raise :class:`S3Error` for a header that asks for what this server does not do."""
    headers = call.headers
    check_owner(headers, "x-amz-expected-bucket-owner", call.lake.account)
    for name in headers:
        if name.startswith("x-amz-"):
            _check_name(name)
    _check_acl(headers.get("x-amz-acl", "private"))
    for name, (allowed, code, text) in _KNOWN_VALUES.items():
        value = headers.get(name, allowed[0])
        if value not in allowed:
            raise S3Error(code, text, remedy=f"{name} takes {' or '.join(allowed)}.", details={"ArgumentValue": value[:100]})
    version = call.query.get("versionId", "null")
    if version != "null":
        raise S3Error(
            "InvalidArgument",
            "Invalid version id specified",
            remedy="Buckets of this store are not versioned.",
            details={"ArgumentName": "versionId", "ArgumentValue": version[:100]},
        )


def check_owner(headers: Mapping[str, str], name: str, account: str) -> None:
    """Raise :class:`S3Error` if the header ``name`` expects another owner of a bucket than ``account``."""
    if headers.get(name, account) != account:
        raise S3Error("AccessDenied", "Access Denied", remedy=f"{name} is not the account of the bucket.")


def _check_name(name: str) -> None:
    if "server-side-encryption-customer" in name:
        raise not_implemented(f"The header {name} (SSE-C)", remedy="Encrypt the lake's disk, or the object yourself.")
    if name.startswith("x-amz-grant-"):
        raise _acl(name)
    if name.startswith("x-amz-object-lock") or name == "x-amz-website-redirect-location":
        raise not_implemented(f"The header {name}")


def _check_acl(acl: str) -> None:
    if acl in _PUBLIC:
        raise _acl(f"x-amz-acl: {acl}")
    if acl not in _PRIVATE_ACLS:
        raise S3Error(
            "InvalidArgument", "There is no such ACL.", details={"ArgumentName": "x-amz-acl", "ArgumentValue": acl[:100]}
        )


def _acl(what: str) -> S3Error:
    return S3Error(
        "AccessDenied",
        f"{what} is refused: objects in this store cannot be made public or shared by an access control list.",
        remedy="Leave it out, and allow access to the object by an IAM policy.",
    )


def encryption_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the answer's headers on encryption: those that were asked for, as AWS answers."""
    encryption = {name: headers[name] for name in (_SSE, f"{_SSE}-aws-kms-key-id") if name in headers}
    return encryption or {_SSE: "AES256"}


def attributes_of(call: Call) -> Attributes:
    """Return the object's attributes in the headers of a put; checksums and sizes of parts are added later."""
    headers = {name: call.headers[name] for name in _STORED if name in call.headers}
    encoding = ",".join(
        part.strip() for part in headers.pop("content-encoding", "").split(",") if part.strip() not in {"", "aws-chunked"}
    )
    if encoding:
        headers["content-encoding"] = encoding
    if _SSE in call.headers:
        headers |= encryption_of(call.headers)
    metadata = {name.removeprefix(_METADATA): value for name, value in call.headers.items() if name.startswith(_METADATA)}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items())
    if size > _MAX_METADATA:
        raise S3Error(
            "MetadataTooLarge",
            "Your metadata headers exceed the maximum allowed metadata size",
            details={"Size": str(size), "MaxSizeAllowed": str(_MAX_METADATA)},
        )
    return Attributes(headers=headers, metadata=metadata, tags=parse_tags(call.headers.get("x-amz-tagging")))


def parse_tags(text: str | None) -> dict[str, str]:
    """Return the tags in a header, which are encoded as a query."""
    if not text:
        return {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=50)
    except ValueError:
        raise S3Error(
            "InvalidArgument",
            "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query "
            "parameters without tag name duplicates.",
        ) from None
    return tags_of([{"Key": key, "Value": value} for key, value in pairs])


def tags_of(pairs: list[dict[str, Any]], *, most: int = _MAX_TAGS, what: str = "Object") -> dict[str, str]:
    """Return the tags of a Tagging document; raise :class:`S3Error` if they break S3's rules."""
    if len(pairs) > most:
        raise S3Error("InvalidTag", f"{what} tags cannot be greater than {most}")
    tags: dict[str, str] = {}
    for pair in pairs:
        key, value = pair.get("Key", ""), pair.get("Value", "")
        if not 1 <= len(key) <= 128 or not _TAG_TEXT.fullmatch(key) or key.lower().startswith("aws:"):
            raise S3Error("InvalidTag", "The TagKey you have provided is invalid", details={"TagKey": key[:128]})
        if len(value) > 256 or not _TAG_TEXT.fullmatch(value):
            raise S3Error("InvalidTag", "The TagValue you have provided is invalid", details={"TagKey": key})
        if key in tags:
            raise S3Error("InvalidTag", "Cannot provide multiple Tags with the same key", details={"TagKey": key})
        tags[key] = value
    return tags


def object_headers(info: ObjectInfo) -> dict[str, str]:
    """Return the headers that describe the object in the answer of a get or head."""
    attributes = info.attributes
    headers = {"content-type": "binary/octet-stream", "accept-ranges": "bytes", "etag": info.etag}
    headers |= {name: value for name, value in attributes.headers.items() if _sendable(value)}
    headers.setdefault(_SSE, "AES256")
    for name, value in attributes.metadata.items():
        headers[f"{_METADATA}{name}"] = _header_text(value)
    if attributes.tags:
        headers["x-amz-tagging-count"] = str(len(attributes.tags))
    return headers


def _sendable(value: str) -> bool:
    with contextlib.suppress(UnicodeEncodeError):
        return "\r" not in value and "\n" not in value and bool(value.encode("latin-1"))
    return False


def _header_text(value: str) -> str:
    # RFC 2047, as S3 answers metadata that headers cannot hold.
    if value.isascii() and value.isprintable():
        return value
    return f"=?UTF-8?B?{base64.b64encode(value.encode()).decode()}?="

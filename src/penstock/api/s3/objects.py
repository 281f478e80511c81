"""Operations on single objects: get, head, put, delete, tags, attributes."""

import re
from collections.abc import Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any

from penstock.api.s3.buckets import full_control
from penstock.api.s3.call import Answer, Call, Handler
from penstock.api.s3.checksums import header_of
from penstock.api.s3.request_headers import attributes_of, encryption_of, object_headers, tags_of
from penstock.api.s3.xml import http_date
from penstock.lake.objects.attributes import ObjectInfo
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import Condition, OpenObject, precondition_failed

__all__ = ["OBJECT_HANDLERS", "check_preconditions", "checksum_members", "condition_of", "range_of", "wanted_algorithm"]

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
_OVERRIDES = ("cache-control", "content-disposition", "content-encoding", "content-language", "content-type", "expires")
_MAX_TAG_ELEMENTS = 1_000  # more than ten tags need, so that eleven are rejected as too many tags
_MAX_DELETED = 1_000
_READ_AHEAD = 64 * 1024  # bytes of an object that are read when it is opened
_UNCHANGED = {"etag", "last-modified", "cache-control", "expires"}  # headers of a 304 answer


async def open_object(call: Call, action: str = "GetObject") -> OpenObject:
    """Return the object of the call, for a caller who may do ``action``.

    If it is missing, AWS says so only to callers who may list the bucket.
    """
    await call.check_access(action)
    try:
        ahead = _READ_AHEAD if call.operation == "GetObject" else 0
        opened: OpenObject = await call.run(call.lake.store.open, call.bucket, call.key, ahead)
    except S3Error as error:
        if error.code == "NoSuchKey" and not await call.run(call.access.may_know_missing, call.bucket, call.key):
            raise S3Error("AccessDenied", "Access Denied") from None
        raise
    return opened


async def get_object(call: Call) -> Answer:
    opened = await open_object(call)
    try:
        answer = _answer_of(call, opened.info)
    except BaseException:
        opened.close()
        raise
    if call.operation == "HeadObject" or answer.status == 304:
        opened.close()
    else:
        answer.stream = opened
    return answer


def _answer_of(call: Call, info: ObjectInfo) -> Answer:
    headers: dict[str, str] = {**object_headers(info), "last-modified": http_date(info.modified)}
    if not check_preconditions(call.headers, info):
        unchanged = {name: value for name, value in headers.items() if name in _UNCHANGED}
        return Answer(status=304, headers=unchanged)
    for name in _OVERRIDES:
        value = call.query.get(f"response-{name}")
        if value is not None:
            if not value.isprintable() or not value.isascii():
                raise S3Error("InvalidArgument", f"response-{name} is not a valid header value.")
            headers[name] = value
    answer = Answer(headers=headers, length=info.size)
    byte_range = range_of(call.headers.get("range"), info.size)
    if "partNumber" in call.query:
        byte_range = _part_of(call, info, headers)
    if byte_range is not None:
        answer.start, answer.length, answer.status = byte_range[0], byte_range[1] - byte_range[0] + 1, 206
        headers["content-range"] = f"bytes {byte_range[0]}-{byte_range[1]}/{info.size}"
    whole = answer.length == info.size
    if call.headers.get("x-amz-checksum-mode", "").upper() == "ENABLED" and whole:
        for algorithm, value in info.attributes.checksums.items():
            headers[header_of(algorithm)] = value
            headers["x-amz-checksum-type"] = info.attributes.checksum_type
    headers["content-length"] = str(answer.length)
    return answer


def _part_of(call: Call, info: ObjectInfo, headers: dict[str, str]) -> tuple[int, int] | None:
    number = call.members["PartNumber"]
    sizes = [size for size, count in info.attributes.parts for _ in range(count)]
    if sum(sizes) != info.size or not sizes:
        sizes = [info.size]
    else:
        headers["x-amz-mp-parts-count"] = str(len(sizes))
    if not 1 <= number <= len(sizes):
        raise S3Error("InvalidPartNumber", "The requested partnumber is not satisfiable")
    start = sum(sizes[: number - 1])
    return (start, start + sizes[number - 1] - 1) if sizes[number - 1] else None


def range_of(header: str | None, size: int) -> tuple[int, int] | None:
    """Return first and last byte of a Range header; None for the whole object and for anything but a single range.

    Raises :class:`S3Error` if the range is beyond the object.
    """
    match = _RANGE.fullmatch(header.strip()) if header is not None else None
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":
        first, last = max(0, size - int(match[2])), size - 1
        satisfiable = int(match[2]) > 0 and size > 0
    else:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
        if match[2] and int(match[2]) < first:
            return None
        satisfiable = first < size
    if not satisfiable:
        raise S3Error(
            "InvalidRange",
            "The requested range is not satisfiable",
            details={"RangeRequested": str(header)[:100], "ActualObjectSize": str(size)},
        )
    return first, last


def check_preconditions(headers: Mapping[str, str], info: ObjectInfo, prefix: str = "") -> bool:
    """Return whether the object is to be sent; raise :class:`S3Error` if a precondition fails. RFC 9110 section 13.2.2.

    ``prefix`` is ``x-amz-copy-source-`` for a copy's.
    """
    match, none = headers.get(f"{prefix}if-match"), headers.get(f"{prefix}if-none-match")
    since, until = headers.get(f"{prefix}if-modified-since"), headers.get(f"{prefix}if-unmodified-since")
    if match is not None:
        if not _names_etag(match, info.etag):
            raise precondition_failed("If-Match")
    elif (time := _time(until)) is not None and int(info.modified) > time:
        raise precondition_failed("If-Unmodified-Since")
    if none is not None:
        unchanged = _names_etag(none, info.etag)
    else:
        unchanged = (time := _time(since)) is not None and int(info.modified) <= time
    if unchanged and prefix:
        raise precondition_failed("If-None-Match" if none is not None else "If-Modified-Since")
    return not unchanged


def _names_etag(header: str, etag: str) -> bool:
    etags = {part.strip().removeprefix("W/").strip('"') for part in header.split(",")}
    return "*" in etags or etag.strip('"') in etags


def _time(header: str | None) -> float | None:
    if header is None:
        return None
    try:
        return parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError):
        return None


def condition_of(headers: Mapping[str, str]) -> Condition:
    """Return the precondition of a write."""
    none = headers.get("if-none-match")
    if none is not None and none.strip() != "*":
        raise S3Error("NotImplemented", "A put accepts only * as If-None-Match.")
    return Condition(match=headers.get("if-match"), absent=none is not None)


def wanted_algorithm(headers: Mapping[str, str]) -> str | None:
    """Return the checksum algorithm that a client names without sending a checksum."""
    name = headers.get("x-amz-sdk-checksum-algorithm", headers.get("x-amz-checksum-algorithm", "")).upper()
    return name if name in {"CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"} else None


async def put_object(call: Call) -> Answer:
    if "uploadId" in call.query or "partNumber" in call.query:
        raise S3Error(
            "InvalidArgument", "This operation does not accept partNumber without uploadId, or uploadId without partNumber."
        )
    await call.check_access("PutObject")
    if "x-amz-tagging" in call.headers:
        await call.check_access("PutObjectTagging")
    attributes, condition = attributes_of(call), condition_of(call.headers)
    if call.body.length is None and "transfer-encoding" not in call.headers:
        raise S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.")
    algorithm = wanted_algorithm(call.headers)
    if algorithm is not None:
        call.body.want(algorithm)
    draft = await call.run(call.lake.store.begin, call.bucket, call.key)
    checksums: dict[str, str] = {}

    def commit() -> ObjectInfo:
        checksums.update({name: checksum.text() for name, checksum in call.body.checksums.items()})
        stored, etag = replace(attributes, checksums=checksums), draft.md5.digest()
        with draft:
            return call.lake.store.commit(draft, call.bucket, call.key, stored, etag=etag, condition=condition)

    try:
        await call.body.pour(draft)
        info: ObjectInfo = await call.run(commit)
    finally:
        draft.close()
    headers = {header_of(name): value for name, value in checksums.items()} | encryption_of(call.headers)
    if checksums:
        headers["x-amz-checksum-type"] = "FULL_OBJECT"
    return Answer(headers={"etag": info.etag, **headers})


async def delete_object(call: Call) -> Answer:
    await call.check_access("DeleteObject")
    condition = Condition(match=call.headers["if-match"]) if "if-match" in call.headers else None
    await call.run(lambda: call.lake.store.delete(call.bucket, call.key, condition=condition))
    return Answer(status=204)


async def delete_objects(call: Call) -> Answer:
    document = await call.document("Delete", elements=6 * _MAX_DELETED + 2)
    if not 1 <= len(document["Objects"]) <= _MAX_DELETED:
        raise S3Error("MalformedXML", f"A request deletes 1 to {_MAX_DELETED:,} objects.")

    def delete() -> dict[str, Any]:
        store, deleted, errors = call.lake.store, [], []
        store.bucket(call.bucket)
        for object_ in document["Objects"]:
            key = object_["Key"]
            try:
                call.access.check("DeleteObject", call.bucket, key)
                if object_.get("VersionId", "null") != "null":
                    raise S3Error("InvalidArgument", "Buckets of this store are not versioned.")
                condition = Condition(match=object_["ETag"]) if object_.get("ETag") else None
                store.delete(call.bucket, key, condition=condition)
                deleted.append({"Key": key})
            except S3Error as error:
                errors.append({"Key": key, "Code": error.code, "Message": str(error)})
            except OSError as error:
                # Others are deleted already, so the error has to be about this object alone.
                text = f"The object could not be deleted: {error.strerror}."
                errors.append({"Key": key, "Code": "InternalError", "Message": text})
        return {"Deleted": [] if document.get("Quiet") else deleted, "Errors": errors}

    members = await call.run(delete)
    return Answer(members=members, denied=[error["Key"] for error in members["Errors"] if error["Code"] == "AccessDenied"])


async def get_object_tagging(call: Call) -> Answer:
    opened = await open_object(call, "GetObjectTagging")
    opened.close()
    tags = opened.info.attributes.tags
    return Answer(members={"TagSet": [{"Key": key, "Value": value} for key, value in tags.items()]})


async def put_object_tagging(call: Call) -> Answer:
    await call.check_access("PutObjectTagging")
    document = await call.document("Tagging", elements=_MAX_TAG_ELEMENTS)
    await call.run(call.lake.store.set_tags, call.bucket, call.key, tags_of(document["TagSet"]))
    return Answer()


async def delete_object_tagging(call: Call) -> Answer:
    await call.check_access("DeleteObjectTagging")
    await call.run(call.lake.store.set_tags, call.bucket, call.key, {})
    return Answer(status=204)


async def get_object_acl(call: Call) -> Answer:
    opened = await open_object(call, "GetObjectAcl")
    opened.close()
    return Answer(members=full_control(call))


def checksum_members(checksums: Mapping[str, str]) -> dict[str, str]:
    """Return checksums as members of botocore's shapes."""
    return {f"Checksum{name}": value for name, value in checksums.items()}


async def get_object_attributes(call: Call) -> Answer:
    await call.check_access("GetObjectAttributes")
    opened = await open_object(call)
    opened.close()
    info = opened.info
    attributes = info.attributes
    requested = {part.strip() for part in call.headers.get("x-amz-object-attributes", "").split(",")} - {""}
    attribute_names = {"ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"}
    if not requested or requested - attribute_names:
        raise S3Error("InvalidArgument", "Invalid attribute name specified.")
    parts = sum(count for _, count in attributes.parts)
    members = {
        "ETag": info.etag.strip('"'),
        "Checksum": {**checksum_members(attributes.checksums), "ChecksumType": attributes.checksum_type}
        if attributes.checksums
        else None,
        "ObjectParts": {"TotalPartsCount": parts} if parts else None,
        "StorageClass": "STANDARD",
        "ObjectSize": info.size,
    }
    chosen = {name: value for name, value in members.items() if name in requested and value is not None}
    return Answer(members=chosen, headers={"last-modified": http_date(info.modified)})


OBJECT_HANDLERS: Mapping[str, Handler] = {
    "DeleteObject": delete_object,
    "DeleteObjectTagging": delete_object_tagging,
    "DeleteObjects": delete_objects,
    "GetObject": get_object,
    "GetObjectAcl": get_object_acl,
    "GetObjectAttributes": get_object_attributes,
    "GetObjectTagging": get_object_tagging,
    "HeadObject": get_object,
    "PutObject": put_object,
    "PutObjectTagging": put_object_tagging,
}

"""Copies and multipart uploads."""

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from penstock.api.s3.buckets import owner_of
from penstock.api.s3.call import Answer, BucketLake, Call, Handler
from penstock.api.s3.checksums import ALGORITHMS, Checksum, composite, header_of
from penstock.api.s3.objects import check_preconditions, checksum_members, condition_of, range_of, wanted_algorithm
from penstock.api.s3.request_headers import attributes_of, check_owner, encryption_of, parse_tags
from penstock.lake.objects.attributes import Attributes, ObjectInfo
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import Condition, OpenObject
from penstock.lake.objects.uploads import MAX_PARTS, Part, Upload
from penstock.lake.objects.writing import Draft

__all__ = ["TRANSFER_HANDLERS"]

_MAX_COPY = 5 * 1024**3
_MAX_PARTS = 10_000
_SOURCE = "x-amz-copy-source-"
_SOURCE_OWNER = "x-amz-source-expected-bucket-owner"


def _source(call: Call) -> tuple[str, str]:
    """Return bucket and key of the copy's source."""
    path, question, version = call.headers["x-amz-copy-source"].partition("?")
    if question and version != "versionId=null":
        raise S3Error("InvalidArgument", "Buckets of this store are not versioned.")
    try:
        bucket, _, key = unquote(path, errors="strict").removeprefix("/").partition("/")
    except UnicodeDecodeError:
        bucket = key = ""
    if not bucket or not key:
        raise S3Error("InvalidArgument", "Copy Source must mention the source bucket and key: sourcebucket/sourcekey")
    return bucket, key


async def _lake_of_source(call: Call) -> BucketLake:
    """Return where the copy's source is."""
    bucket, _ = _source(call)
    lake: BucketLake = await call.run(call.find, bucket, call.headers.get(_SOURCE_OWNER))
    check_owner(call.headers, _SOURCE_OWNER, lake.lake.account)
    return lake


async def _open_source(call: Call, source: BucketLake) -> OpenObject:
    bucket, key = _source(call)

    def open_source() -> OpenObject:
        source.access.check("GetObject", bucket, key)
        try:
            opened = source.lake.store.open(bucket, key)
        except S3Error as error:
            if error.code == "NoSuchKey" and not source.access.may_know_missing(bucket, key):
                raise S3Error("AccessDenied", "Access Denied") from None
            raise
        try:
            check_preconditions(call.headers, opened.info, _SOURCE)
        except BaseException:
            opened.close()
            raise
        return opened

    opened: OpenObject = await call.run(open_source)
    return opened


async def copy_object(call: Call) -> Answer:
    await call.check_access("PutObject")
    directives = {name: call.headers.get(f"x-amz-{name}-directive", "COPY").upper() for name in ("metadata", "tagging")}
    if any(value not in {"COPY", "REPLACE"} for value in directives.values()):
        raise S3Error("InvalidArgument", "Unknown metadata or tagging directive.")
    if directives["tagging"] == "REPLACE":
        await call.check_access("PutObjectTagging")
    source = await _lake_of_source(call)
    same = source.lake is call.lake and _source(call) == (call.bucket, call.key)
    if same and "REPLACE" not in directives.values():
        raise S3Error(
            "InvalidRequest",
            "This copy request is illegal because it is trying to copy an object to itself without changing the object's "
            "metadata, storage class, website redirect location or encryption attributes.",
        )
    attributes, condition = attributes_of(call), condition_of(call.headers)
    opened = await _open_source(call, source)
    try:
        stored = opened.info.attributes
        if directives["tagging"] == "COPY" and stored.tags:
            await call.run(source.access.check, "GetObjectTagging", *_source(call))
            await call.check_access("PutObjectTagging")
        base = stored if directives["metadata"] == "COPY" else attributes
        tags = stored.tags if directives["tagging"] == "COPY" else parse_tags(call.headers.get("x-amz-tagging"))
        info = await call.run(_copy, call, opened, replace(base, tags=tags), condition)
    finally:
        opened.close()
    result = {"ETag": info.etag, "LastModified": info.modified, **checksum_members(info.attributes.checksums)}
    return Answer(members={"CopyObjectResult": result}, headers=encryption_of(call.headers))


def _copy(call: Call, opened: OpenObject, attributes: Attributes, condition: Condition) -> ObjectInfo:
    if opened.info.size > _MAX_COPY:
        raise S3Error(
            "InvalidRequest", "The specified copy source is larger than the maximum allowable size for a copy source"
        )
    with call.lake.store.draft() as draft:
        if opened.info.size:
            draft.append_file(opened.descriptor, length=opened.info.size, hashed=True)
        stored = opened.info.attributes
        algorithm = wanted_algorithm(call.headers)
        checksums = stored.checksums if stored.checksum_type == "FULL_OBJECT" else {}
        if (algorithm is not None and algorithm not in checksums) or (stored.checksums and not checksums):
            checksums = _checksum_of(draft, algorithm or next(iter(stored.checksums)))
        attributes = replace(attributes, checksums=checksums, checksum_type="FULL_OBJECT", parts=())
        return call.lake.store.commit(draft, call.bucket, call.key, attributes, etag=draft.md5.digest(), condition=condition)


def _checksum_of(draft: Draft, algorithm: str) -> dict[str, str]:
    checksum = Checksum(algorithm)
    for block in draft.blocks():
        checksum.update(block)
    return {algorithm: checksum.text()}


async def create_multipart_upload(call: Call) -> Answer:
    await call.check_access("PutObject")
    if "x-amz-tagging" in call.headers:
        await call.check_access("PutObjectTagging")
    algorithm = call.headers.get("x-amz-checksum-algorithm", "").upper()
    if algorithm and algorithm not in ALGORITHMS:
        raise S3Error("InvalidRequest", "Checksum algorithm provided is unsupported.")
    combined = call.headers.get("x-amz-checksum-type", "").upper()
    if algorithm and not combined:
        combined = "FULL_OBJECT" if algorithm == "CRC64NVME" else "COMPOSITE"
    if (combined == "COMPOSITE" and algorithm == "CRC64NVME") or (combined == "FULL_OBJECT" and algorithm.startswith("SHA")):
        raise S3Error(
            "InvalidRequest", f"The {combined} checksum type cannot be used with the {algorithm.lower()} algorithm."
        )
    upload = Upload(
        id="",
        bucket=call.bucket,
        key=call.key,
        initiated=time.time(),
        attributes=attributes_of(call),
        algorithm=algorithm,
        checksum_type=combined,
        principal=call.caller.principal,
    )
    created: Upload = await call.run(call.lake.uploads.create, upload)
    headers = encryption_of(call.headers)
    if algorithm:
        headers |= {"x-amz-checksum-algorithm": algorithm, "x-amz-checksum-type": combined}
    return Answer(members={"Bucket": call.bucket, "Key": call.key, "UploadId": created.id}, headers=headers)


async def _upload(call: Call) -> Upload:
    upload: Upload = await call.run(call.lake.uploads.get, call.bucket, call.key, call.query["uploadId"])
    return upload


def _number(call: Call) -> int:
    number: int = call.members["PartNumber"]
    if not 1 <= number <= MAX_PARTS:
        raise S3Error("InvalidArgument", f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive")
    return number


async def upload_part(call: Call) -> Answer:
    await call.check_access("PutObject")
    number, upload = _number(call), await _upload(call)
    if call.body.length is None and "transfer-encoding" not in call.headers:
        raise S3Error("MissingContentLength", "You must provide the Content-Length HTTP header.")
    if upload.algorithm:
        call.body.want(upload.algorithm)
    draft = await call.run(call.lake.store.draft)
    try:
        await call.body.pour(draft)
        checksums = {name: checksum.text() for name, checksum in call.body.checksums.items()}
        part: Part = await call.run(call.lake.uploads.put_part, upload, number, draft, checksums)
    finally:
        await call.run(draft.close)
    headers = {header_of(name): value for name, value in checksums.items()} | encryption_of(upload.attributes.headers)
    return Answer(headers={"etag": part.etag, **headers})


async def upload_part_copy(call: Call) -> Answer:
    await call.check_access("PutObject")
    _number(call)
    upload = await _upload(call)
    opened = await _open_source(call, await _lake_of_source(call))
    try:
        size = opened.info.size
        header = call.headers.get("x-amz-copy-source-range")
        byte_range = range_of(header, size)
        if header is not None and (byte_range is None or header != f"bytes={byte_range[0]}-{byte_range[1]}"):
            raise S3Error("InvalidArgument", "The x-amz-copy-source-range value must be of the form bytes=first-last")
        start, length = (0, size) if byte_range is None else (byte_range[0], byte_range[1] - byte_range[0] + 1)
        part: Part = await call.run(_copy_part, call, opened, upload, (start, length))
    finally:
        opened.close()
    result = {"ETag": part.etag, "LastModified": part.modified, **checksum_members(part.checksums)}
    return Answer(members={"CopyPartResult": result}, headers=encryption_of(upload.attributes.headers))


def _copy_part(call: Call, opened: OpenObject, upload: Upload, span: tuple[int, int]) -> Part:
    number = _number(call)
    start, length = span
    if length > _MAX_COPY:
        raise S3Error(
            "InvalidRequest", "The specified copy source is larger than the maximum allowable size for a copy source"
        )
    with call.lake.store.draft() as draft:
        if length:
            draft.append_file(opened.descriptor, start=start, length=length, hashed=True)
        checksums = _checksum_of(draft, upload.algorithm) if upload.algorithm else {}
        return call.lake.uploads.put_part(upload, number, draft, checksums)


async def complete_multipart_upload(call: Call) -> Answer:
    await call.check_access("PutObject")
    condition = condition_of(call.headers)
    document = await call.document("CompletedMultipartUpload", elements=9 * _MAX_PARTS + 1)
    listed = document.get("Parts", [])
    if not listed or any("PartNumber" not in part or "ETag" not in part for part in listed):
        raise S3Error(
            "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema"
        )
    info: ObjectInfo = await call.run(_complete, call, listed, condition)
    members = {"Bucket": call.bucket, "Key": call.key, "ETag": info.etag, "Location": f"/{call.bucket}/{call.key}"}
    attributes = info.attributes
    members |= checksum_members(attributes.checksums)
    if attributes.checksums:
        members["ChecksumType"] = attributes.checksum_type
    return Answer(members=members, headers=encryption_of(attributes.headers))


def _complete(call: Call, listed: list[dict[str, Any]], condition: Condition) -> ObjectInfo:
    uploads, upload_id = call.lake.uploads, call.query["uploadId"]
    with uploads.completing(call.bucket, call.key, upload_id) as finished:
        if finished is not None:
            return finished
        upload = uploads.get(call.bucket, call.key, upload_id)
        parts = uploads.open_parts(upload, [(entry["PartNumber"], entry["ETag"]) for entry in listed])
        for part, sent in zip(parts, listed, strict=True):
            for algorithm, value in part.checksums.items():
                if sent.get(f"Checksum{algorithm}", value) != value:
                    raise S3Error("InvalidPart", f"The {algorithm} of part {part.number} is not the one that was uploaded.")
        with uploads.assemble(upload, parts) as draft:
            checksums = _checksums_of(upload, parts, draft)
            _check_whole(call, draft, checksums)
            return uploads.complete(upload, parts, draft, checksums, condition)


def _check_whole(call: Call, draft: Draft, checksums: Mapping[str, str]) -> None:
    size = call.headers.get("x-amz-mp-object-size")
    if size is not None and size != str(draft.size):
        raise S3Error("InvalidRequest", "The provided 'x-amz-mp-object-size' header does not match what was computed.")
    for algorithm, value in checksums.items():
        if call.headers.get(header_of(algorithm), value) != value:
            raise S3Error("BadDigest", f"The {algorithm} you specified did not match the calculated checksum.")


def _checksums_of(upload: Upload, parts: list[Part], draft: Draft) -> dict[str, str]:
    algorithm = upload.algorithm
    if not algorithm:
        return {}
    if upload.checksum_type == "FULL_OBJECT":
        return _checksum_of(draft, algorithm)
    return {algorithm: composite(algorithm, [part.checksums[algorithm] for part in parts])}


async def abort_multipart_upload(call: Call) -> Answer:
    await call.check_access("AbortMultipartUpload")
    await call.run(call.lake.uploads.abort, await _upload(call))
    return Answer(status=204)


async def list_parts(call: Call) -> Answer:
    await call.check_access("ListMultipartUploadParts")
    upload = await _upload(call)
    limit, after = min(call.members.get("MaxParts", 1_000), 1_000), call.members.get("PartNumberMarker", "0")
    if not limit >= 0 or not str(after).isdigit():
        raise S3Error("InvalidArgument", "max-parts and part-number-marker have to be numbers.")
    there: list[Part] = await call.run(call.lake.uploads.parts, upload)
    parts = [part for part in there if part.number > int(after)]
    shown = parts[:limit]
    return Answer(
        members={
            "Bucket": call.bucket,
            "Key": call.key,
            "UploadId": upload.id,
            "PartNumberMarker": int(after),
            "NextPartNumberMarker": shown[-1].number if shown else 0,
            "MaxParts": limit,
            "IsTruncated": len(parts) > limit,
            "Parts": [
                {
                    "PartNumber": part.number,
                    "LastModified": part.modified,
                    "ETag": part.etag,
                    "Size": part.size,
                    **checksum_members(part.checksums),
                }
                for part in shown
            ],
            "Initiator": {"ID": upload.principal, "DisplayName": upload.principal},
            "Owner": owner_of(call),
            "StorageClass": "STANDARD",
            "ChecksumAlgorithm": upload.algorithm or None,
            "ChecksumType": upload.checksum_type or None,
        }
    )


async def list_multipart_uploads(call: Call) -> Answer:
    members = call.members
    prefix, delimiter = members.get("Prefix", ""), members.get("Delimiter", "")
    # Other than on AWS, a policy can limit this to a prefix: vended credentials would list the uploads of all tables.
    await call.check_access("ListBucketMultipartUploads", extra={"s3:prefix": prefix} if prefix else None)
    key, upload_id = members.get("KeyMarker", ""), members.get("UploadIdMarker", "")
    limit = min(members.get("MaxUploads", 1_000), 1_000)
    uploads: list[Upload] = await call.run(call.lake.uploads.of_bucket, call.bucket)
    remaining = [upload for upload in uploads if upload.key.startswith(prefix)]
    remaining = [
        upload for upload in remaining if upload.key > key or (upload_id and upload.key == key and upload.id > upload_id)
    ]
    shown: list[Upload] = []
    prefixes: list[str] = []
    truncated = False
    last = ("", "")
    for upload in remaining:
        cut = upload.key.find(delimiter, len(prefix)) if delimiter else -1
        common = upload.key[: cut + len(delimiter)] if cut >= 0 else None
        # A marker that is a common prefix stands for all keys that begin with it.
        if common is not None and common in {key, last[0]}:
            continue
        if len(shown) + len(prefixes) >= limit:
            truncated = True
            break
        if common is not None:
            prefixes.append(common)
            last = (common, "")
        else:
            shown.append(upload)
            last = (upload.key, upload.id)
    return Answer(
        members={
            "Bucket": call.bucket,
            "KeyMarker": key,
            "UploadIdMarker": upload_id,
            "NextKeyMarker": last[0] if truncated else None,
            "NextUploadIdMarker": last[1] or None if truncated else None,
            "Prefix": prefix,
            "Delimiter": delimiter or None,
            "MaxUploads": limit,
            "IsTruncated": truncated,
            "Uploads": [
                {
                    "UploadId": upload.id,
                    "Key": upload.key,
                    "Initiated": upload.initiated,
                    "StorageClass": "STANDARD",
                    "Owner": owner_of(call),
                    "Initiator": {"ID": upload.principal, "DisplayName": upload.principal},
                    "ChecksumAlgorithm": upload.algorithm or None,
                    "ChecksumType": upload.checksum_type or None,
                }
                for upload in shown
            ],
            "CommonPrefixes": [{"Prefix": name} for name in prefixes],
        }
    )


TRANSFER_HANDLERS: Mapping[str, Handler] = {
    "AbortMultipartUpload": abort_multipart_upload,
    "CompleteMultipartUpload": complete_multipart_upload,
    "CopyObject": copy_object,
    "CreateMultipartUpload": create_multipart_upload,
    "ListMultipartUploads": list_multipart_uploads,
    "ListParts": list_parts,
    "UploadPart": upload_part,
    "UploadPartCopy": upload_part_copy,
}

"""What an S3 store can do, found out by trying: conditional writes, uploads in parts, listings, ranges, checksums.

Stores that speak S3 differ in just what a commit relies on, and their pages do not tell. The checks write small objects and
one of 5 MiB below one prefix, and remove them.
"""

import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.httpsession import URLLib3Session

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ["CHECKS", "Check", "Finding", "Probe", "probe"]

_PART = b"p" * (5 << 20)  # the smallest part that S3 takes, except the last one
_WRITERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The store under test: checks write below ``prefix``, which ends in a slash."""

    client: "S3Client"
    bucket: str
    prefix: str

    def put(self, name: str, body: bytes = b"x", **more: Any) -> str:
        """Write an object; return its ETag."""
        return self.client.put_object(Bucket=self.bucket, Key=self.prefix + name, Body=body, **more)["ETag"]

    def get(self, name: str, **more: Any) -> bytes:
        """Return an object's bytes."""
        return self.client.get_object(Bucket=self.bucket, Key=self.prefix + name, **more)["Body"].read()

    def begin(self, name: str) -> dict[str, str]:
        """Begin an upload in parts; return the arguments that name it."""
        upload = self.client.create_multipart_upload(Bucket=self.bucket, Key=self.prefix + name)
        return {"Bucket": self.bucket, "Key": self.prefix + name, "UploadId": upload["UploadId"]}

    def parts(self, upload: dict[str, str], *bodies: bytes) -> dict[str, Any]:
        """Upload the parts; return the argument that completes the upload."""
        client: Any = self.client
        etags = [
            {"PartNumber": number, "ETag": client.upload_part(**upload, PartNumber=number, Body=body)["ETag"]}
            for number, body in enumerate(bodies, start=1)
        ]
        return {"MultipartUpload": {"Parts": etags}}

    def complete(self, upload: dict[str, str], parts: dict[str, Any], **more: Any) -> None:
        """Complete an upload."""
        client: Any = self.client
        client.complete_multipart_upload(**upload, **parts, **more)

    def names(self, below: str = "", **more: Any) -> list[str]:
        """Return the names of the objects below a name, page by page, as the store lists them."""
        pages: Any = self.client.get_paginator("list_objects_v2")
        listed = pages.paginate(Bucket=self.bucket, Prefix=self.prefix + below, **more)
        return [item["Key"][len(self.prefix) :] for page in listed for item in page.get("Contents", ())]

    def uploads(self) -> list[str]:
        """Return the ids of the uploads below the prefix that nobody completed."""
        listed = self.client.list_multipart_uploads(Bucket=self.bucket, Prefix=self.prefix)
        return [upload["UploadId"] for upload in listed.get("Uploads", ())]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One property. ``holds`` returns whether the store has it; a refusal of the store counts as no."""

    name: str
    title: str
    holds: Callable[[Probe], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The outcome of one check; ``said`` is the store's error, where it gave one."""

    name: str
    title: str
    holds: bool
    said: str = ""


def _refuses(call: Callable[[], Any]) -> bool:
    """Return whether a conditional write is refused, because its condition is not met."""
    try:
        call()
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"] in {409, 412}
    return False


def _create(store: Probe) -> bool:
    store.put("create", b"first", IfNoneMatch="*")
    return _refuses(lambda: store.put("create", b"second", IfNoneMatch="*")) and store.get("create") == b"first"


def _create_race(store: Probe) -> bool:
    def attempt(number: int) -> bool:
        return not _refuses(lambda: store.put("race", b"%d" % number, IfNoneMatch="*"))

    with ThreadPoolExecutor(_WRITERS) as pool:
        winners = [number for number, won in enumerate(pool.map(attempt, range(_WRITERS))) if won]
    return [b"%d" % number for number in winners] == [store.get("race")]


def _replace(store: Probe) -> bool:
    old = store.put("replace", b"first")
    new = store.put("replace", b"second", IfMatch=old)
    return new != old and _refuses(lambda: store.put("replace", b"third", IfMatch=old)) and store.get("replace") == b"second"


def _replace_race(store: Probe) -> bool:
    etag = store.put("swap", b"before")

    def attempt(number: int) -> bool:
        return not _refuses(lambda: store.put("swap", b"%d" % number, IfMatch=etag))

    with ThreadPoolExecutor(_WRITERS) as pool:
        winners = [number for number, won in enumerate(pool.map(attempt, range(_WRITERS))) if won]
    return [b"%d" % number for number in winners] == [store.get("swap")]


def _upload(store: Probe) -> bool:
    upload = store.begin("upload")
    parts = store.parts(upload, _PART, b"end")
    hidden = store.names("upload") == []
    store.complete(upload, parts)
    return hidden and store.get("upload") == _PART + b"end"


def _uploads_listed(store: Probe) -> bool:
    upload = store.begin("listed")
    listed = store.uploads()
    store.client.abort_multipart_upload(**upload)  # type: ignore[arg-type]
    return listed == [upload["UploadId"]] and store.uploads() == []


def _second_completion(store: Probe) -> bool:
    upload = store.begin("again")
    parts = store.parts(upload, b"once")
    store.complete(upload, parts)
    try:
        store.complete(upload, parts)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchUpload":
            raise
    return store.get("again") == b"once"


def _upload_if_absent(store: Probe) -> bool:
    store.put("taken", b"first")
    upload = store.begin("taken")
    parts = store.parts(upload, b"second")
    refused = _refuses(lambda: store.complete(upload, parts, IfNoneMatch="*"))
    with suppress(ClientError):
        store.client.abort_multipart_upload(**upload)  # type: ignore[arg-type]
    return refused and store.get("taken") == b"first"


def _order(store: Probe) -> bool:
    names = ["order/a-b", "order/a/b", "order/a0", "order/é", "order/\U0001f600"]
    for name in reversed(names):
        store.put(name)
    by_bytes = sorted(names, key=str.encode)
    return store.names("order/") == by_bytes and store.names("order/", PaginationConfig={"PageSize": 2}) == by_bytes


def _folders(store: Probe) -> bool:
    store.put("both")
    store.put("both/file")
    return store.names("both") == ["both", "both/file"]


def _start_after(store: Probe) -> bool:
    for name in ("after/1", "after/2", "after/3"):
        store.put(name)
    return store.names("after/", StartAfter=f"{store.prefix}after/1") == ["after/2", "after/3"]


def _ranges(store: Probe) -> bool:
    store.put("range", b"0123456789")
    return (store.get("range", Range="bytes=2-4"), store.get("range", Range="bytes=-3")) == (b"234", b"789")


def _checksum(store: Probe) -> bool:
    store.put("checksum", b"text", ChecksumAlgorithm="SHA256")
    head = store.client.head_object(Bucket=store.bucket, Key=f"{store.prefix}checksum", ChecksumMode="ENABLED")
    return "ChecksumSHA256" in head


def _checksum_compared(store: Probe) -> bool:
    try:
        store.put("wrong", b"text", ChecksumCRC32="AAAAAA==")
    except ClientError:
        return store.names("wrong") == []
    return False


def _presigned(store: Probe) -> bool:
    store.put("presigned", b"text")
    where = {"Bucket": store.bucket, "Key": f"{store.prefix}presigned"}
    request = AWSRequest(method="GET", url=store.client.generate_presigned_url("get_object", Params=where))
    return URLLib3Session().send(request.prepare()).content == b"text"


def _many_deleted(store: Probe) -> bool:
    names = ["many/1", "many/2"]
    for name in names:
        store.put(name)
    objects: Any = {"Objects": [{"Key": store.prefix + name} for name in names]}
    store.client.delete_objects(Bucket=store.bucket, Delete=objects)
    return store.names("many/") == []


def _copy(store: Probe) -> bool:
    store.put("source", b"text")
    source: Any = {"Bucket": store.bucket, "Key": f"{store.prefix}source"}
    store.client.copy_object(Bucket=store.bucket, Key=f"{store.prefix}copy", CopySource=source)
    return store.get("copy") == b"text"


CHECKS = (
    Check(name="create", title="Write only if the object is new (If-None-Match: *)", holds=_create),
    Check(name="create-race", title=f"Of {_WRITERS} such writes at once, one wins", holds=_create_race),
    Check(name="replace", title="Write only if the object is unchanged (If-Match)", holds=_replace),
    Check(name="replace-race", title=f"Of {_WRITERS} such writes at once, one wins", holds=_replace_race),
    Check(name="upload", title="Uploads in parts, not visible before they are completed", holds=_upload),
    Check(name="uploads-listed", title="Uploads that nobody completed are listed and can be aborted", holds=_uploads_listed),
    Check(name="completed-twice", title="A second completion harms nothing", holds=_second_completion),
    Check(name="upload-create", title="Complete an upload only if the object is new", holds=_upload_if_absent),
    Check(name="order", title="Listings in the order of the names' bytes, over pages", holds=_order),
    Check(name="folders", title="An object's name may be another's folder", holds=_folders),
    Check(name="start-after", title="Listings from a name on (StartAfter)", holds=_start_after),
    Check(name="ranges", title="Ranges, and the last bytes", holds=_ranges),
    Check(name="checksum", title="Keeps the checksum of an object (SHA-256)", holds=_checksum),
    Check(name="checksum-compared", title="Refuses a body that does not fit its checksum", holds=_checksum_compared),
    Check(name="presigned", title="Serves addresses that have the signature of the client inside", holds=_presigned),
    Check(name="delete-many", title="Deletes several objects with one request", holds=_many_deleted),
    Check(name="copy", title="Copies an object by itself", holds=_copy),
)
"""The properties that are tried, in this order."""


def probe(client: "S3Client", bucket: str, prefix: str = "") -> Iterator[Finding]:
    """Try each of :data:`CHECKS` below ``prefix``, in a folder of its own, which is removed at the end.

    Raises botocore's error if the bucket cannot be written or listed at all.
    """
    below = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    store = Probe(client=client, bucket=bucket, prefix=f"{below}_probe-{secrets.token_hex(8)}/")
    store.put("first")
    store.names()
    try:
        for check in CHECKS:
            try:
                holds, said = check.holds(store), ""
            except (ClientError, BotoCoreError) as error:
                holds, said = False, str(error)
            yield Finding(name=check.name, title=check.title, holds=holds, said=said)
    finally:
        for key in store.names():
            client.delete_object(Bucket=bucket, Key=store.prefix + key)

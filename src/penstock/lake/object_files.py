"""The file operations of a commit on an S3 store, which has no rename: a staged file is an upload that nobody completed.

:meth:`ObjectFiles.upload` sends a file's bytes to the place that it will have, in parts. A store shows nothing of an upload
before it is completed. The upload's id is kept in a small object, the *record*, which is the staged file for the ledger:
moving the record to its target completes the upload, deleting the record aborts it. So a batch is published without a copy,
and what a kill leaves is rolled forward or back as on a folder. An upload whose record was never written is known by its
target's name (:meth:`ObjectFiles.abort_uploads`).

No request relies on a conditional write, which not every store has (docs/lake/object-stores.md).
"""

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import IO, TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from penstock.errors import DataProblem, EnvironmentProblem
from penstock.lake.locations import ObjectUri, parse_uri

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

__all__ = ["RECORD", "ObjectFiles"]

RECORD = ".upload"
"""The ending of a record's name."""

_PART_SIZE = 16 << 20
_LOT = 1_000  # keys in one deletion, S3's bound
_TOKEN = "penstock-upload"  # of an object's metadata
_MISSING = frozenset({"NoSuchKey", "NoSuchUpload", "404", "NotFound"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """A record's content. ``token`` is in the metadata of the object that the upload becomes; ``parts`` are ETags."""

    id: str
    target: str
    token: str
    parts: tuple[str, ...]


@contextmanager
def _calls(what: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] in _MISSING:
            raise FileNotFoundError(what) from None
        raise EnvironmentProblem(f"{what}: {error}.", remedy="Check the location and its permissions.") from error
    except BotoCoreError as error:
        raise EnvironmentProblem(f"{what}: {error}", remedy="Check the endpoint and the credentials.") from error


class ObjectFiles:
    """Implements :class:`penstock.lake.files.FileSystem` and :class:`penstock.lake.files.Uploads` for ``s3://BUCKET/key``.

    What the store acknowledged is durable, so there is nothing to sync. Each operation raises :class:`EnvironmentProblem` if
    the store refuses it or is out of reach.
    """

    def __init__(self, client: "S3Client", *, part_size: int = _PART_SIZE) -> None:
        """``part_size`` is in bytes; S3 takes parts of at least 5 MiB, and the last one of any size."""
        self._client: Any = client
        self._part_size = part_size

    def names(self, folder: str) -> list[str]:
        """See :class:`~penstock.lake.files.FileSystem`."""
        at, names = _folder(folder), set[str]()
        for page in self._pages(at, Delimiter="/"):
            names.update(item["Key"][len(at.key) :] for item in page.get("Contents", ()))
            names.update(item["Prefix"][len(at.key) : -1] for item in page.get("CommonPrefixes", ()))
        return sorted(names - {""})

    def walk(self, folder: str) -> dict[str, int]:
        """See :class:`~penstock.lake.files.FileSystem`. The marks of empty folders that other clients write are left out."""
        at, root = _folder(folder), folder.rstrip("/")
        found = {
            f"{root}/{item['Key'][len(at.key) :]}": int(item["Size"])
            for page in self._pages(at)
            for item in page.get("Contents", ())
            if not item["Key"].endswith("/")
        }
        return dict(sorted(found.items()))

    def _pages(self, at: ObjectUri, **more: str) -> Iterator[Any]:
        with _calls(str(at)):
            yield from self._client.get_paginator("list_objects_v2").paginate(Bucket=at.bucket, Prefix=at.key, **more)

    def exists(self, path: str) -> bool:
        """See :class:`~penstock.lake.files.FileSystem`. A record exists if it can be moved.

        Stores may have a rule by which they end old uploads.
        """
        if path.endswith(RECORD):
            with suppress(FileNotFoundError):
                upload = self._record(path)
                return self._is_begun(upload) or self._is_completed(upload)
            return False
        return self._head(path) is not None or bool(self.names(path))

    def _is_begun(self, upload: _Upload) -> bool:
        try:
            with _calls(upload.target):
                self._client.list_parts(**_named(upload.target), UploadId=upload.id, MaxParts=1)
        except FileNotFoundError:
            return False
        return True

    def _is_completed(self, upload: _Upload) -> bool:
        head = self._head(upload.target)
        return head is not None and head.get("Metadata", {}).get(_TOKEN) == upload.token

    def _head(self, path: str) -> Any:
        try:
            with _calls(path):
                return self._client.head_object(**_named(path))
        except FileNotFoundError:
            return None

    def read(self, path: str) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            return bytes(self._client.get_object(**_named(path))["Body"].read())

    def tail(self, path: str, size: int) -> bytes:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            return bytes(self._client.get_object(**_named(path), Range=f"bytes=-{size}")["Body"].read())

    def write(self, path: str, data: bytes) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""
        with _calls(path):
            self._client.put_object(**_named(path), Body=data)

    def upload(self, body: IO[bytes], target: str, record: str) -> None:
        """See :class:`~penstock.lake.files.Uploads`; ``record`` ends in :data:`RECORD`."""
        token = secrets.token_hex(16)
        with _calls(target):
            begun = self._client.create_multipart_upload(**_named(target), Metadata={_TOKEN: token})
            where = {**_named(target), "UploadId": begun["UploadId"]}
            parts: list[str] = []
            while (data := body.read(self._part_size)) or not parts:
                part = self._client.upload_part(**where, PartNumber=len(parts) + 1, Body=data)
                parts.append(part["ETag"])
        upload = _Upload(id=begun["UploadId"], target=target, token=token, parts=tuple(parts))
        self.write(record, json.dumps(asdict(upload)).encode())

    def move(self, source: str, target: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`: completes the upload of a record; copies an object.

        A record whose upload is gone is removed, and its move fails as that of a missing file.
        """
        if not source.endswith(RECORD):
            self._copy(source, target)
        else:
            upload = self._record(source)
            self._complete(source, upload)
            if upload.target != target:  # its partition was moved since the upload began
                self._copy(upload.target, target)
        self._delete(source)

    def _copy(self, source: str, target: str) -> None:
        with _calls(source):
            self._client.copy_object(**_named(target), CopySource=_named(source))
        self._delete(source)

    def _complete(self, record: str, upload: _Upload) -> None:
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(upload.parts, start=1)]
        try:
            with _calls(upload.target):
                self._client.complete_multipart_upload(
                    **_named(upload.target), UploadId=upload.id, MultipartUpload={"Parts": parts}
                )
        except FileNotFoundError:
            # Completed before, by a process that was killed or did not get the answer.
            if not self._is_completed(upload):
                self._delete(record)
                raise FileNotFoundError(record) from None

    def _record(self, path: str) -> _Upload:
        data = self.read(path)
        try:
            raw = json.loads(data)
            return _Upload(id=raw["id"], target=raw["target"], token=raw["token"], parts=tuple(raw["parts"]))
        except (ValueError, KeyError, TypeError) as error:
            raise DataProblem(f"The record {path} of an upload is damaged: {error}.", remedy="Remove it.") from error

    def delete(self, path: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`; uploads of records that it deletes are aborted."""
        files = [*self.walk(path), path]
        uploads = []
        for record in (name for name in files if name.endswith(RECORD)):
            with suppress(FileNotFoundError):
                uploads.append(self._record(record))
        if len(files) == 1:
            self._delete(path)
        else:
            self._delete_all(files)
        # Behind their records, so that no record is left of an upload that was aborted.
        for upload in uploads:
            self._abort(upload)

    def _delete_all(self, files: Sequence[str]) -> None:
        at = parse_uri(files[0])
        for start in range(0, len(files), _LOT):
            keys = [{"Key": parse_uri(name).key} for name in files[start : start + _LOT]]
            with _calls(str(at)):
                done = self._client.delete_objects(Bucket=at.bucket, Delete={"Objects": keys, "Quiet": True})
            for failure in done.get("Errors", ())[:1]:
                raise EnvironmentProblem(f"{failure.get('Key')} could not be removed: {failure.get('Message')}.")

    def _delete(self, path: str) -> None:
        with suppress(FileNotFoundError), _calls(path):
            self._client.delete_object(**_named(path))

    def _abort(self, upload: _Upload) -> None:
        with suppress(FileNotFoundError), _calls(upload.target):
            self._client.abort_multipart_upload(**_named(upload.target), UploadId=upload.id)

    def abort_uploads(self, below: str, *, of: Callable[[str], bool], keep: Collection[str]) -> None:
        """See :class:`~penstock.lake.files.Uploads`."""
        at = _folder(below)
        kept = set[str]()
        for record in keep:
            with suppress(FileNotFoundError):
                kept.add(self._record(record).id)
        with _calls(below):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(Bucket=at.bucket, Prefix=at.key)
            begun = [item for page in pages for item in page.get("Uploads", ())]
        for item in begun:
            if of(item["Key"].rpartition("/")[2]) and item["UploadId"] not in kept:
                self._abort(_Upload(id=item["UploadId"], target=f"s3://{at.bucket}/{item['Key']}", token="", parts=()))

    def sync(self, paths: Iterable[str], *, below: str) -> None:
        """See :class:`~penstock.lake.files.FileSystem`."""


def _named(path: str) -> dict[str, str]:
    at = parse_uri(path)
    return {"Bucket": at.bucket, "Key": at.key}


def _folder(path: str) -> ObjectUri:
    """Return a folder with the slash at the end of its key."""
    at = parse_uri(path)
    return ObjectUri(at.bucket, f"{at.key.rstrip('/')}/" if at.key.strip("/") else "")

"""Multipart uploads in progress: a folder each, beside the buckets, with one file and one record for each part.

A part is synced before its response, and replaced as a whole. An upload without activity for a week is deleted, as by a
lifecycle rule, and the number of uploads is limited.
"""

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from penstock import durable
from penstock.caching import SharedCache
from penstock.lake.objects.attributes import Attributes, ObjectInfo
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.names import check_key
from penstock.lake.objects.store import Condition, LakeStore
from penstock.lake.objects.writing import Draft, disk_full

__all__ = ["MAX_PARTS", "Part", "Upload", "Uploads"]

MAX_PARTS = 10_000
_MIN_PART = 5 * 1024 * 1024  # bytes, of every part but the last
_MAX_UPLOADS = 1_000  # in progress, of one lake
_ABANDONED_SECONDS = 7 * 24 * 3600.0
_SWEEP_SECONDS = 600.0
_STRIPES = 64
_REMEMBERED = 1_000  # completed uploads
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An upload in progress. ``initiated`` is in seconds since 1970; ``algorithm`` is that of its checksums, or empty."""

    id: str
    bucket: str
    key: str
    initiated: float
    attributes: Attributes
    algorithm: str = ""
    checksum_type: str = ""
    principal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """An uploaded part. ``md5`` is in hexadecimal digits, ``file`` is the name of its file."""

    number: int
    size: int
    md5: str
    modified: float
    file: str
    checksums: Mapping[str, str] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        """The part's ETag, quoted."""
        return f'"{self.md5}"'


class Uploads:
    """The uploads of one lake. Every call may block."""

    def __init__(self, store: LakeStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._swept = 0.0
        # A client that times out while a large upload is completed retries, and must learn that it is done.
        self._completing = [threading.Lock() for _ in range(_STRIPES)]
        self._completed: SharedCache[tuple[str, str, str], ObjectInfo] = SharedCache(_REMEMBERED)

    def create(self, upload: Upload) -> Upload:
        """Begin an upload with a new id. Raises :class:`S3Error` if there are too many."""
        check_key(upload.key)
        self._store.bucket(upload.bucket)
        self.sweep()
        if sum(1 for _ in self._folders()) >= _MAX_UPLOADS:
            raise S3Error(
                "TooManyUploads",
                f"There are {_MAX_UPLOADS:,} multipart uploads in progress.",
                remedy="Complete or abort some: 'aws s3api list-multipart-uploads' lists them.",
            )
        created = replace(upload, id=secrets.token_hex(16))
        folder = self._store.uploads / created.bucket / created.id
        with disk_full():
            durable.make_folder(folder, mode=0o700)
            _write_json(folder / "upload.json", asdict(created))
        return created

    def get(self, bucket: str, key: str, upload_id: str) -> Upload:
        """Return the upload. Raises :class:`S3Error` if the key has no upload with that id."""
        self._store.bucket(bucket)
        upload = None
        if _ID.fullmatch(upload_id):
            upload = _read_upload(self._store.uploads / bucket / upload_id)
        # The record names the folder of the parts, so it must be this upload's.
        if upload is None or (upload.bucket, upload.key, upload.id) != (bucket, key, upload_id):
            raise S3Error(
                "NoSuchUpload",
                "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted "
                "or completed.",
                details={"UploadId": upload_id[:100]},
            )
        return upload

    def of_bucket(self, bucket: str) -> list[Upload]:
        """Return the uploads of a bucket, by key and id."""
        self._store.bucket(bucket)
        uploads = [_read_upload(folder) for folder in self._folders(bucket)]
        return sorted((upload for upload in uploads if upload is not None), key=lambda upload: (upload.key, upload.id))

    def put_part(self, upload: Upload, number: int, draft: Draft, checksums: Mapping[str, str]) -> Part:
        """Store a draft as a part; replace the part with its number."""
        folder = self._folder(upload)
        part = Part(
            number=number,
            size=draft.size,
            md5=draft.md5.hexdigest(),
            modified=time.time(),
            file=f"{number:05}.{secrets.token_hex(8)}",
            checksums=dict(checksums),
        )
        draft.sync()
        try:
            draft.path.replace(folder / part.file)
            with self._lock:
                former = _read_part(folder / f"{number:05}.json")
                with disk_full():
                    _write_json(folder / f"{number:05}.json", asdict(part))
        except FileNotFoundError:
            # Aborted or completed meanwhile.
            self.get(upload.bucket, upload.key, upload.id)
            raise
        if former is not None:
            (folder / former.file).unlink(missing_ok=True)
        return part

    def parts(self, upload: Upload) -> list[Part]:
        """Return the uploaded parts, by number."""
        folder = self._folder(upload)
        parts = [_read_part(path) for path in folder.glob("[0-9][0-9][0-9][0-9][0-9].json")]
        return sorted((part for part in parts if part is not None), key=lambda part: part.number)

    def open_parts(self, upload: Upload, wanted: Sequence[tuple[int, str]]) -> list[Part]:
        """Return the parts that a client names by number and ETag, after a check of order, presence, ETag and size."""
        if [number for number, _ in wanted] != sorted({number for number, _ in wanted}):
            raise S3Error(
                "InvalidPartOrder",
                "The list of parts was not in ascending order. The parts list must be specified in order by part number.",
            )
        stored = {part.number: part for part in self.parts(upload)}
        chosen = []
        for number, etag in wanted:
            part = stored.get(number)
            if part is None or etag.strip('"') != part.md5:
                raise S3Error(
                    "InvalidPart",
                    "One or more of the specified parts could not be found. The part may not have been uploaded, or the "
                    "specified entity tag may not match the part's entity tag.",
                    details={"PartNumber": str(number), "UploadId": upload.id},
                )
            chosen.append(part)
        for part in chosen[:-1]:
            if part.size < _MIN_PART:
                raise S3Error(
                    "EntityTooSmall",
                    "Your proposed upload is smaller than the minimum allowed size",
                    details={"PartNumber": str(part.number), "MinSizeAllowed": str(_MIN_PART)},
                )
        return chosen

    def assemble(self, upload: Upload, parts: Sequence[Part]) -> Draft:
        """Return a draft with the bytes of the parts, in order."""
        folder = self._folder(upload)
        draft = self._store.draft()
        try:
            for part in parts:
                descriptor = os.open(folder / part.file, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    draft.append_file(descriptor, length=part.size, hashed=False)
                finally:
                    os.close(descriptor)
        except FileNotFoundError:
            draft.close()
            self.get(upload.bucket, upload.key, upload.id)
            raise S3Error(
                "InvalidPart", "A part was replaced while the upload was completed.", remedy="Try again."
            ) from None
        except BaseException:
            draft.close()
            raise
        return draft

    @contextlib.contextmanager
    def completing(self, bucket: str, key: str, upload_id: str) -> Iterator[ObjectInfo | None]:
        """Lock the upload for its completion; yield its object if it is already complete."""
        identity = (bucket, key, upload_id)
        with self._completing[hash(identity) % _STRIPES]:
            yield self._completed.peek(identity)

    def complete(
        self, upload: Upload, parts: Sequence[Part], draft: Draft, checksums: Mapping[str, str], condition: Condition
    ) -> ObjectInfo:
        """Make the assembled draft the object, and delete the upload."""
        digest = hashlib.md5(b"".join(bytes.fromhex(part.md5) for part in parts), usedforsecurity=False).hexdigest()
        kept = upload.attributes
        attributes = Attributes(
            headers=kept.headers,
            metadata=kept.metadata,
            tags=kept.tags,
            checksums=dict(checksums),
            checksum_type=upload.checksum_type or "FULL_OBJECT",
            parts=_runs(parts),
        )
        etag = f'"{digest}-{len(parts)}"'.encode()
        info = self._store.commit(draft, upload.bucket, upload.key, attributes, etag=etag, condition=condition)
        self._drop(self._folder(upload))
        self._completed.put((upload.bucket, upload.key, upload.id), info)
        return info

    def abort(self, upload: Upload) -> None:
        """Delete the upload and its parts."""
        self._drop(self._folder(upload))

    def sweep(self) -> None:
        """Delete uploads without activity for a week; checks at most every ten minutes."""
        now = time.monotonic()
        with self._lock:
            if self._swept and now - self._swept < _SWEEP_SECONDS:
                return
            self._swept = now
        old = time.time() - _ABANDONED_SECONDS
        for folder in self._folders():
            with contextlib.suppress(OSError):
                if folder.stat().st_mtime < old:
                    self._drop(folder)

    def _folder(self, upload: Upload) -> Path:
        return self._store.uploads / upload.bucket / upload.id

    def _folders(self, bucket: str = "*") -> Iterator[Path]:
        return (path for path in self._store.uploads.glob(f"{bucket}/*") if _ID.fullmatch(path.name))

    def _drop(self, folder: Path) -> None:
        # The rename hides the upload at once, even if deleting its files takes long.
        dropped = self._store.drafts / f"{folder.name}.dropped"
        with contextlib.suppress(OSError):
            folder.rename(dropped)
            shutil.rmtree(dropped, ignore_errors=True)


def _runs(parts: Sequence[Part]) -> tuple[tuple[int, int], ...]:
    runs: list[tuple[int, int]] = []
    for part in parts:
        if runs and runs[-1][0] == part.size:
            runs[-1] = (part.size, runs[-1][1] + 1)
        else:
            runs.append((part.size, 1))
    # If part sizes differ too often, only their number is stored: attributes have little room.
    return tuple(runs) if len(runs) <= 8 else ()


def _write_json(path: Path, value: object) -> None:
    # The part's file is in the same folder, whose entries are synced with this one.
    with durable.writing(path) as file:
        file.write(json.dumps(value).encode())


def _read_upload(folder: Path) -> Upload | None:
    try:
        raw = json.loads((folder / "upload.json").read_text())
        raw["attributes"] = Attributes(**raw["attributes"])
        return Upload(**raw)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _read_part(path: Path) -> Part | None:
    try:
        return Part(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None

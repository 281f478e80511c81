"""One lake as S3 sees it: its buckets and their objects. Every call may block; the store is safe for threads."""

import contextlib
import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock import durable
from penstock.lake.objects.attributes import (
    MARKER_ETAG,
    Attributes,
    ObjectInfo,
    is_marker,
    keep,
    read_info,
    unmark,
    write_tags,
)
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.listing import Page, list_page
from penstock.lake.objects.names import WORK_FOLDER, check_bucket_name, check_key, file_of, is_hidden
from penstock.lake.objects.policies import BucketPolicies, BucketSettings
from penstock.lake.objects.writing import Draft, conflict, make_marker, place, prune

__all__ = ["Condition", "LakeStore", "OpenObject", "no_such_key", "precondition_failed"]

_STRIPES = 256
_STALE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The precondition of a write: ``match`` is the required ETag; ``absent`` requires that no object exists."""

    match: str | None = None
    absent: bool = False


@dataclass(slots=True, kw_only=True)
class OpenObject:
    """An object that is open for reading: its state and its file descriptor, -1 for a folder."""

    info: ObjectInfo
    descriptor: int
    content: bytes | None = None
    """All bytes, if the object is small and reading ahead was requested."""

    def close(self) -> None:
        """Close the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


class LakeStore:
    """The buckets below the folder ``root``, which is created if it does not exist."""

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root = root.resolve()
        self.drafts = self.root / WORK_FOLDER / "drafts"
        self.uploads = self.root / WORK_FOLDER / "uploads"
        for folder in (self.drafts, self.uploads):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.policies = BucketPolicies(self.root)
        self.settings = BucketSettings(self.root)
        self._locks = [threading.Lock() for _ in range(_STRIPES)]
        # An empty folder is not removed while it becomes an object: their keys differ, and so do their locks.
        self._folders = threading.Lock()
        self._sweep()

    # Buckets

    def buckets(self) -> list[tuple[str, float]]:
        """Return the names of the buckets, sorted, and their creation times (seconds since 1970)."""
        buckets = []
        with os.scandir(self.root) as entries:
            for entry in entries:
                with contextlib.suppress(S3Error, OSError):
                    check_bucket_name(entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        buckets.append((entry.name, entry.stat(follow_symlinks=False).st_ctime))
        return sorted(buckets)

    def bucket(self, name: str) -> Path:
        """Return the folder of a bucket. Raises :class:`S3Error` if it does not exist."""
        check_bucket_name(name)
        path = self.root / name
        if path.is_symlink() or not path.is_dir():
            raise S3Error("NoSuchBucket", "The specified bucket does not exist", details={"BucketName": name})
        return path

    def create_bucket(self, name: str) -> None:
        """Create a bucket that only its owner can read."""
        check_bucket_name(name)
        if not (self.root / name).exists():
            # Another program may have removed a bucket and left its policy and settings.
            self.policies.delete(name)
            self.settings.delete_all(name)
        try:
            (self.root / name).mkdir(mode=0o700)
            durable.sync(self.root)
        except FileExistsError:
            raise S3Error(
                "BucketAlreadyOwnedByYou",
                "Your previous request to create the named bucket succeeded and you already own it.",
                details={"BucketName": name},
            ) from None

    def delete_bucket(self, name: str) -> None:
        """Remove an empty bucket, with empty folders of other programs in it."""
        folder = self.bucket(name)
        if list_page(folder, prefix="", delimiter="", after="", limit=1).objects or _has_files(folder):
            raise S3Error("BucketNotEmpty", "The bucket you tried to delete is not empty", details={"BucketName": name})
        try:
            for path, _folders, files in os.walk(folder, topdown=False):
                for file in filter(is_hidden, files):
                    Path(path, file).unlink()
                Path(path).rmdir()
        except OSError:
            raise S3Error(
                "BucketNotEmpty", "The bucket you tried to delete is not empty", details={"BucketName": name}
            ) from None
        durable.sync(self.root)
        self.policies.delete(name)
        self.settings.delete_all(name)
        shutil.rmtree(self.uploads / name, ignore_errors=True)

    # Objects

    def page(self, bucket: str, *, prefix: str = "", delimiter: str = "", after: str = "", limit: int = 1000) -> Page:
        """Return a page of a bucket's listing: see :func:`~penstock.lake.objects.listing.list_page`."""
        return list_page(self.bucket(bucket), prefix=prefix, delimiter=delimiter, after=after, limit=limit)

    def info(self, bucket: str, key: str) -> ObjectInfo:
        """Return the state of the object. Raises :class:`S3Error` if it does not exist."""
        opened = self.open(bucket, key)
        opened.close()
        return opened.info

    def open(self, bucket: str, key: str, ahead: int = 0) -> OpenObject:
        """Open the object for reading; a later change of the name does not affect its bytes.

        An object of up to ``ahead`` bytes is read at once.
        """
        folder = self.bucket(bucket)
        path = _existing(folder, key)
        if path is None:
            raise no_such_key(key)
        if key.endswith("/"):
            if not is_marker(path):
                raise no_such_key(key)
            return OpenObject(info=read_info(key, path, path.stat()), descriptor=-1)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise no_such_key(key) from None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise no_such_key(key)
            info = read_info(key, path, status, descriptor=descriptor)
            content = os.pread(descriptor, ahead, 0) if 0 < info.size <= ahead else None
            return OpenObject(info=info, descriptor=descriptor, content=content)
        except BaseException:
            os.close(descriptor)
            raise

    def begin(self, bucket: str, key: str) -> Draft:
        """Return a new draft of an object of the bucket. Raises :class:`S3Error` if bucket or key is invalid."""
        check_key(key)
        self.bucket(bucket)
        return self.draft()

    def draft(self) -> Draft:
        """Return a new draft, to be written and committed."""
        return Draft(self.drafts)

    def commit(
        self, draft: Draft, bucket: str, key: str, attributes: Attributes, *, etag: bytes, condition: Condition
    ) -> ObjectInfo:
        """Make a synced draft the object ``key``, atomically. Raises :class:`S3Error` if the condition is not met."""
        check_key(key)
        folder = self.bucket(bucket)
        target = file_of(folder, key)
        if target is None:
            raise conflict(key, "behind a symbolic link")
        if key.endswith("/"):
            if draft.size:
                raise S3Error(
                    "InvalidRequest",
                    f"'{key[:200]}' ends in a slash: it is a folder in this store, which has no bytes.",
                    remedy="Send no body, or choose a key without a slash at its end.",
                )
            return self._commit_marker(folder, key, target, attributes, condition)
        keep(draft.path, attributes, etag)
        draft.sync()
        # Before the draft has its name, because afterwards the name may be another object's.
        info = read_info(key, draft.path, draft.path.stat())
        with self._locked(bucket, key):
            self._check(folder, key, condition)
            try:
                place(draft.path, folder, target, exclusive=condition.absent)
            except FileExistsError:
                raise precondition_failed("If-None-Match") from None
        return info

    def delete(self, bucket: str, key: str, *, condition: Condition | None = None) -> None:
        """Remove the object, if it exists."""
        folder = self.bucket(bucket)
        with self._locked(bucket, key):
            if condition is not None:
                self._check(folder, key, condition)
            path = _existing(folder, key)
            if path is None:
                return
            if key.endswith("/"):
                if is_marker(path):
                    unmark(path)
                    durable.sync(path)
                    self._prune(folder, path)
                return
            try:
                path.unlink()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                return
            except PermissionError:
                # macOS raises this for a folder; for a file it means that the object still exists.
                if path.is_dir():
                    return
                raise
            self._prune(folder, path.parent)

    def set_tags(self, bucket: str, key: str, tags: Mapping[str, str]) -> None:
        """Replace the object's tags."""
        folder = self.bucket(bucket)
        with self._locked(bucket, key):
            info = self.info(bucket, key)
            path = _existing(folder, key)
            assert path is not None
            text = info.etag.strip('"')
            write_tags(path, tags, bytes.fromhex(text) if len(text) == 32 else info.etag.encode())
            durable.sync(path)

    def _commit_marker(
        self, bucket: Path, key: str, target: Path, attributes: Attributes, condition: Condition
    ) -> ObjectInfo:
        with self._locked(bucket.name, key):
            self._check(bucket, key, condition)
            with self._folders:
                make_marker(bucket, target)
                keep(target, attributes, MARKER_ETAG)
            durable.sync(target)
            return read_info(key, target, target.stat())

    def _prune(self, bucket: Path, folder: Path) -> None:
        with self._folders:
            left = prune(bucket, folder)
        # Another caller may have removed it with its contents.
        with contextlib.suppress(FileNotFoundError):
            durable.sync(left)

    def _check(self, bucket: Path, key: str, condition: Condition) -> None:
        if condition.match is None and not condition.absent:
            return
        try:
            stored: ObjectInfo | None = self.info(bucket.name, key)
        except S3Error as error:
            if error.code != "NoSuchKey":
                raise
            stored = None
        if condition.absent and stored is not None:
            raise precondition_failed("If-None-Match")
        if condition.match is not None:
            if stored is None:
                raise no_such_key(key)
            if condition.match not in {"*", stored.etag, stored.etag.strip('"')}:
                raise precondition_failed("If-Match")

    @contextlib.contextmanager
    def _locked(self, bucket: str, key: str) -> Iterator[None]:
        with self._locks[hash((bucket, key)) % _STRIPES]:
            yield

    def _sweep(self) -> None:
        """Remove the drafts of killed processes."""
        old = time.time() - _STALE_SECONDS
        for path in self.drafts.iterdir():
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime >= old:
                    continue
                if path.is_dir():  # an upload whose removal was interrupted
                    shutil.rmtree(path)
                else:
                    path.unlink()


def no_such_key(key: str) -> S3Error:
    """Return the error for a key without an object."""
    return S3Error("NoSuchKey", "The specified key does not exist.", details={"Key": key})


def precondition_failed(header: str) -> S3Error:
    """Return the error for a condition in ``header`` that the object does not meet."""
    return S3Error(
        "PreconditionFailed",
        "At least one of the pre-conditions you specified did not hold",
        details={"Condition": header},
    )


def _existing(bucket: Path, key: str) -> Path | None:
    """Return the path of the key's file; None if no file can have that name."""
    try:
        check_key(key)
    except S3Error as error:
        if error.code == "KeyTooLongError":
            raise
        return None
    return file_of(bucket, key)


def _has_files(folder: Path) -> bool:
    # Files that no listing shows must not be lost with the bucket, except for s3proxy's uploads in progress.
    return any(not is_hidden(name) for _, _, files in os.walk(folder) for name in files)

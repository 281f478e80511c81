"""Responses about an object whose name gets another one meanwhile, and files that must not be lost or left behind."""

import errno
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.lake.objects import store as module
from penstock.lake.objects.attributes import Attributes, ObjectInfo
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import Condition, LakeStore
from penstock.lake.objects.writing import place

LONG_AGO = 1_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> LakeStore:
    made = LakeStore(tmp_path)
    made.create_bucket("bucket")
    return made


def put(store: LakeStore, content: bytes, key: str = "key", **headers: str) -> ObjectInfo:
    with store.begin("bucket", key) as draft:
        draft.write(content)
        kept = Attributes(headers={name.replace("_", "-"): value for name, value in headers.items()})
        return store.commit(draft, "bucket", key, kept, etag=draft.md5.digest(), condition=Condition())


def etag_of(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


def calling_first(monkeypatch: pytest.MonkeyPatch, name: str, first: Callable[[], object]) -> None:
    real: Callable[..., Any] = getattr(module, name)

    def wrapped(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(module, name, real)
        first()
        return real(*arguments, **named)

    monkeypatch.setattr(module, name, wrapped)


def test_an_open_object_keeps_its_etag_and_headers_when_it_is_replaced(
    store: LakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, b"first", content_type="text/first")
    calling_first(monkeypatch, "read_info", lambda: put(store, b"second one", content_type="text/second"))
    opened = store.open("bucket", "key", 100)
    opened.close()
    assert opened.content == b"first"
    assert (opened.info.etag, opened.info.size) == (etag_of(b"first"), 5)
    assert opened.info.attributes.headers == {"content-type": "text/first"}


def test_a_put_responds_with_its_own_object(store: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(draft: Path, bucket: Path, target: Path, *, exclusive: bool) -> None:
        place(draft, bucket, target, exclusive=exclusive)
        target.unlink()

    monkeypatch.setattr(module, "place", overtaken)
    info = put(store, b"mine", content_type="text/mine")
    assert (info.key, info.size, info.etag) == ("key", 4, etag_of(b"mine"))
    assert info.attributes.headers == {"content-type": "text/mine"}


def test_a_folder_that_becomes_an_object_is_not_removed_with_its_last_file(
    store: LakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, b"last", "folder/file")
    deleting = threading.Thread(target=store.delete, args=("bucket", "folder/file"))

    def delete_meanwhile() -> None:
        deleting.start()
        deleting.join(0.5)  # it ends, or waits for this thread

    calling_first(monkeypatch, "keep", delete_meanwhile)
    put(store, b"", "folder/")
    deleting.join()
    assert store.info("bucket", "folder/").size == 0
    with pytest.raises(S3Error, match="key does not exist"):
        store.info("bucket", "folder/file")


def test_an_object_that_cannot_be_removed_is_not_reported_as_deleted(
    store: LakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, b"kept")

    def refused(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(PermissionError):
        store.delete("bucket", "key")


def test_a_bucket_with_only_leftovers_of_uploads_can_be_deleted(store: LakeStore) -> None:
    (store.root / "bucket" / ".mpus-1").write_bytes(b"left")
    (store.root / "bucket" / "folder").mkdir()
    (store.root / "bucket" / "folder" / ".s3proxy-2").write_bytes(b"left")
    store.delete_bucket("bucket")
    with pytest.raises(S3Error, match="does not exist"):
        store.bucket("bucket")


def test_an_upload_whose_deletion_was_interrupted_is_swept(store: LakeStore, tmp_path: Path) -> None:
    half = store.drafts / f"{'a' * 32}.dropped"
    half.mkdir()
    (half / "00001.part").write_bytes(b"part")
    os.utime(half, (LONG_AGO, LONG_AGO))
    LakeStore(tmp_path)
    assert not half.exists()

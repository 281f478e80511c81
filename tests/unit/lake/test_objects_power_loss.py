"""Acknowledged objects, deletions, buckets and parts are on the disk."""

import hashlib
import os
from itertools import count
from pathlib import Path

import pytest

from penstock import durable
from penstock.lake.objects.attributes import Attributes
from penstock.lake.objects.store import Condition, LakeStore
from penstock.lake.objects.uploads import Upload, Uploads
from penstock.testing.powerloss import ForgetfulDisk, after_power_loss


class ForgetfulLake(LakeStore):
    """A lake on a disk that loses unsynced writes; ``left()`` is the lake after a power loss."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "lake")
        self._folder = folder
        self._count = count()

    def left(self) -> LakeStore:
        folder = self._folder / f"left-{next(self._count)}"
        after_power_loss(self._folder / "notes", folder)
        return LakeStore(folder)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ForgetfulLake:
    store = ForgetfulLake(tmp_path)
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, getattr(os, name))
    monkeypatch.setattr(durable, "F_FULLFSYNC", None)
    ForgetfulDisk(tmp_path / "lake", tmp_path / "notes").install()
    return store


def put(store: LakeStore, key: str, data: bytes) -> None:
    with store.draft() as draft:
        draft.write(data)
        store.commit(draft, "bk1", key, Attributes(), etag=draft.md5.digest(), condition=Condition())


def keys(store: LakeStore) -> list[str]:
    return [object_.key for object_ in store.page("bk1").objects]


def test_a_bucket_and_objects_survive_with_their_folders(lake: ForgetfulLake) -> None:
    lake.create_bucket("bk1")
    put(lake, "a/b/c", b"first")
    put(lake, "a/b/c", b"second")
    put(lake, "marked/", b"")
    left = lake.left()
    assert keys(left)[0] == "a/b/c"
    assert (left.root / "bk1" / "a" / "b" / "c").read_bytes() == b"second"
    assert (left.root / "bk1" / "marked").is_dir()


def test_deleted_objects_stay_deleted(lake: ForgetfulLake) -> None:
    lake.create_bucket("bk1")
    put(lake, "a/b/c", b"x")
    put(lake, "a/d", b"x")
    lake.delete("bk1", "a/b/c")
    assert keys(lake.left()) == ["a/d"]
    lake.delete("bk1", "a/d")
    assert keys(lake.left()) == []
    lake.delete_bucket("bk1")
    assert lake.left().buckets() == []


def test_an_upload_and_its_parts_are_kept(lake: ForgetfulLake) -> None:
    lake.create_bucket("bk1")
    uploads = Uploads(lake)
    expected = Upload(id="", bucket="bk1", key="k", initiated=0.0, attributes=Attributes())
    upload = uploads.create(expected)
    with lake.draft() as draft:
        draft.write(b"part")
        uploads.put_part(upload, 1, draft, {})
    left = Uploads(lake.left())
    (part,) = left.parts(left.get("bk1", "k", upload.id))
    assert (part.size, part.md5) == (4, hashlib.md5(b"part", usedforsecurity=False).hexdigest())

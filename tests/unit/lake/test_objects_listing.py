"""Listings of folders against a model: a set of keys, sorted as bytes."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lake.objects.attributes import Attributes
from penstock.lake.objects.errors import S3Error
from penstock.lake.objects.store import Condition, LakeStore

# Few characters, and those that sort around the slash, so that names collide.
NAME = st.sampled_from(["a", "b", "a-", "a.", "a0", "a/", "aé", "a😀", "é", "-", ".", ".."])
KEYS = st.lists(st.lists(NAME, min_size=1, max_size=3).map("/".join), max_size=12)
PREFIX = st.sampled_from(["", "a", "a/", "a/b", "b-", "é", "a//", "../", "/"])


def put(store: LakeStore, key: str) -> bool:
    """Put the key; return whether that succeeded."""
    with store.draft() as draft:
        if not key.endswith("/"):
            draft.write(key.encode())
        try:
            store.commit(draft, "bucket", key, Attributes(), etag=draft.md5.digest(), condition=Condition())
        except S3Error as error:
            if error.code not in {"InvalidArgument", "InvalidRequest"}:
                raise
            return False
    return True


def listed(store: LakeStore, prefix: str, delimiter: str, limit: int) -> tuple[list[str], list[str]]:
    keys, prefixes, after = [], [], ""
    while True:
        page = store.page("bucket", prefix=prefix, delimiter=delimiter, after=after, limit=limit)
        keys += [object_.key for object_ in page.objects]
        prefixes += page.prefixes
        if page.next_after is None:
            return keys, prefixes
        after = page.next_after


@settings(deadline=None)
@given(
    wanted=KEYS,
    prefix=PREFIX,
    delimiter=st.sampled_from(["", "/", "b", "/a"]),
    limit=st.integers(1, 4),
    gone=st.sets(st.integers(0, 11)),
)
def test_a_listing_equals_that_of_a_set_of_keys(
    wanted: list[str], prefix: str, delimiter: str, limit: int, gone: set[int]
) -> None:
    with TemporaryDirectory() as folder:
        store = LakeStore(Path(folder))
        store.create_bucket("bucket")
        there = {key for key in wanted if put(store, key)}
        for number, key in enumerate(wanted):
            if number in gone:
                store.delete("bucket", key)
                there.discard(key)
        results = sorted((key for key in there if key.startswith(prefix)), key=str.encode)
        if delimiter:
            grouped = {key: key.find(delimiter, len(prefix)) for key in results}
            expected = [key for key in results if grouped[key] < 0]
            common = sorted({key[: cut + len(delimiter)] for key, cut in grouped.items() if cut >= 0}, key=str.encode)
        else:
            expected, common = results, []
        assert listed(store, prefix, delimiter, limit) == (expected, common)
        for key in there:
            opened = store.open("bucket", key)
            assert opened.descriptor < 0 or os.pread(opened.descriptor, 100, 0) == key.encode()
            opened.close()
        for key in there:
            store.delete("bucket", key)
        assert list((Path(folder) / "bucket").iterdir()) == []
        assert list((Path(folder) / ".penstock-s3" / "drafts").iterdir()) == []


def test_only_the_folders_that_a_page_needs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LakeStore(tmp_path)
    store.create_bucket("bucket")
    for number in range(50):
        folder = tmp_path / "bucket" / f"d{number:02}" / "sub"
        folder.mkdir(parents=True)
        for name in range(20):
            (folder / f"{name:02}").touch()
    read: list[str] = []
    scan = os.scandir

    def scandir(path: Any) -> Any:
        read.append(str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    page = store.page("bucket", prefix="d30/sub/1", limit=5)
    assert [object_.key for object_ in page.objects] == [f"d30/sub/{number}" for number in range(10, 15)]
    assert len(read) == 1
    read.clear()
    assert len(store.page("bucket", after="d20/sub/19", limit=20).objects) == 20
    # The bucket, the folders on the way to the start, those of the page and of the key after it.
    assert len(read) <= 7

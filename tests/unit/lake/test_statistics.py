"""Walking the lake and reading footers."""

from pathlib import Path

import pytest

from penstock.errors import DataProblem, InvalidInput
from penstock.lake.locations import LakeFolder
from penstock.lake.statistics import is_hidden, walk


def touch(root: Path, *keys: str) -> LakeFolder:
    for key in keys:
        path = root / "lake" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    return LakeFolder(root)


def test_walk_skips_files_that_readers_skip(tmp_path: Path) -> None:
    lake = touch(tmp_path, "t/b", "t/a=1/x", "t/_SUCCESS", "t/.x.crc", "t/_tmp/x", "t/_p=1/x", "t/d_$folder$", "u/x")
    lake_files = list(walk(lake, "s3://lake/t/"))
    assert [file.key for file in lake_files] == ["_p=1/x", "a=1/x", "b"]
    assert {file.size for file in lake_files} == {5}
    assert list(walk(lake, "s3://lake/none/")) == []
    assert list(walk(lake, "s3://lake/u/x/")) == []


def test_walk_does_not_follow_links(tmp_path: Path) -> None:
    lake = touch(tmp_path / "buckets", "t/x")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "buckets/lake/t/file").symlink_to(tmp_path / "secret")
    (tmp_path / "buckets/lake/t/folder").symlink_to(tmp_path)
    (tmp_path / "buckets/lake/out").symlink_to(tmp_path)
    assert [file.key for file in walk(lake, "s3://lake/t/")] == ["x"]
    with pytest.raises(InvalidInput, match="outside the lake"):
        list(walk(lake, "s3://lake/out/"))


def test_a_missing_bucket_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="Bucket lake does not exist"):
        list(walk(LakeFolder(tmp_path), "s3://lake/t/"))


def test_hidden_names_are_sparks() -> None:
    assert [is_hidden(name) for name in ("_SUCCESS", ".a", "_a=1", "a_b", "x_$folder$")] == [True, True, False, False, True]

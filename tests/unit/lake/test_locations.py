"""The files of ``s3://`` names, and that no name leads out of a bucket's folder."""

import errno
from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.lake.locations import LakeFolder
from penstock.lake.statistics import walk
from penstock.query.results.sinks import LakeSink
from penstock.sql.errors import StatementError


@pytest.fixture
def lake(tmp_path: Path) -> LakeFolder:
    for name in ("lake/bucket/words", "other/bucket"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lake" / "linked").symlink_to(tmp_path / "other" / "bucket")
    (tmp_path / "lake" / "bucket" / "linked").symlink_to(tmp_path / "other")
    (tmp_path / "lake" / "bucket" / "loop").symlink_to(tmp_path / "lake" / "bucket" / "loop")
    return LakeFolder(tmp_path / "lake")


def test_a_name_is_translated_to_a_path_and_back(lake: LakeFolder) -> None:
    path = lake.path("s3a://bucket/words/part.parquet")
    assert path == lake.root.resolve() / "bucket" / "words" / "part.parquet"
    assert lake.uri(path) == "s3://bucket/words/part.parquet"
    assert lake.path("s3://bucket/%2e%2e/x") == lake.root.resolve() / "bucket" / "%2e%2e" / "x"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/../../other/bucket/",
        "s3://../other/bucket/",
        "s3://./bucket/",
        "s3:///bucket/words",
        "s3://bucket//etc/",
        "s3://bucket/linked/bucket/",
        "s3://linked/",
        "s3://bucket/loop",
        "s3://bucket/a\0b",
        "/bucket/words",
        "file:///bucket/words",
        f"s3://bucket/{'x' * 256}/",
        f"s3://bucket/{'ä' * 128}/",
        f"s3://{'y' * 256}/words",
        f"s3://bucket/{'a/' * 513}",
    ],
)
def test_names_that_lead_out_or_cannot_be_files_are_refused(lake: LakeFolder, uri: str) -> None:
    with pytest.raises(InvalidInput):
        lake.path(uri)
    with pytest.raises(InvalidInput):
        list(walk(lake, uri))
    with pytest.raises(InvalidInput):
        LakeSink(lake).check(uri)


def test_a_bucket_that_does_not_exist_is_told_with_its_remedy(lake: LakeFolder) -> None:
    assert lake.check_bucket("s3://bucket/new/") == lake.root.resolve() / "bucket" / "new"
    with pytest.raises(InvalidInput, match=r"The bucket of s3://absent/x/ does not exist\.") as refused:
        lake.check_bucket("s3://absent/x/", remedy="Create it.")
    assert refused.value.remedy == "Create it."


def test_taken_files_become_objects_without_a_copy_where_the_file_system_allows_it(
    lake: LakeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(name: str) -> Path:
        (tmp_path / name).write_text(name)
        return tmp_path / name

    sink = LakeSink(lake)
    inode = made("one").stat().st_ino
    sink.take([("s3://bucket/results/one", made("one")), ("s3://bucket/results/two", made("two"))])
    stored = lake.path("s3://bucket/results/one")
    assert stored.stat().st_ino == inode
    assert [path.read_text() for path in sorted(stored.parent.iterdir())] == ["one", "two"]

    def elsewhere(self: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(Path, "rename", elsewhere)
    sink.take([("s3://bucket/results/three", made("three"))])
    assert lake.path("s3://bucket/results/three").read_text() == "three"

    monkeypatch.undo()
    with pytest.raises(StatementError, match="s3://bucket/results/five"):
        sink.take([("s3://bucket/results/four", made("four")), ("s3://bucket/results/five", tmp_path / "missing")])
    assert len(list(stored.parent.iterdir())) == 3

"""Job bookmarks: what a commit makes seen, by key and time, and where the document is kept."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from penstock.errors import ConcurrentModification, InvalidInput, NotFound
from penstock.glue.jobs.bookmark_store import FOLDER, FileBookmarks, ServerBookmarks, bookmark_store
from penstock.glue.jobs.bookmarks import Bookmarks, Marks, State
from penstock.glue.sources.file_marks import state_after, unread
from penstock.glue.sources.listing import SourceFile, bounded, check_bucket

HOUR = 3_600_000


def file(name: str, modified: int, root: str = "s3://b/t") -> SourceFile:
    return SourceFile(path=f"{root}/{name}", name=name, root=root, size=10, modified=modified)


def read(files: list[SourceFile], before: State | None, count: int | None = None) -> tuple[list[str], State]:
    chosen = bounded(unread(files, Marks(after=before)), count=count, size=None)
    return [source_file.name for source_file in chosen], state_after(chosen, before, listed=files, band=900)


def test_a_file_is_read_once_by_key_and_time() -> None:
    old, new = file("old", 1 * HOUR), file("new", 5 * HOUR)
    names, state = read([old, new], None)
    assert names == ["old", "new"]
    assert read([old, new], state)[0] == []
    # One that came with an earlier time, within the band, one that changed, and one of another partition.
    late, changed, far = file("late", 5 * HOUR - 1000), replace(new, modified=5 * HOUR + 1), file("far", HOUR, "s3://b/u")
    names, after = read([old, late, changed, far], state)
    assert sorted(names) == ["far", "late", "new"]
    assert read([old, late, changed, far], after)[0] == []
    assert read([old, late, changed], state)[1] != state
    # A listing without anything new leaves what was known.
    assert read([old, far], after)[1] == after
    assert read([late, changed], read([old, far], after)[1])[0] == []


def test_what_a_bound_leaves_out_is_read_later_whatever_its_time() -> None:
    files = [file(name, moment) for name, moment in [("a", HOUR), ("b", 3 * HOUR), ("c", 3 * HOUR), ("d", 9 * HOUR)]]
    state: State | None = None
    results: list[str] = []
    for _ in range(5):
        names, state = read(files, state, count=1)
        results += names
    assert results == ["a", "b", "c", "d"]


def bookmarks(folder: Path, run: str = "r1", **more: object) -> Bookmarks:
    result = Bookmarks()
    result.begin(FileBookmarks(folder, "j/1", run), **more)  # type: ignore[arg-type]
    return result


def test_only_a_commit_moves_the_bookmark(tmp_path: Path) -> None:
    assert Bookmarks().marks("source") is None
    first = bookmarks(tmp_path)
    assert first.marks("") is None
    assert first.marks("source") == Marks()
    first.propose("source", {"n": 1})
    assert bookmarks(tmp_path).marks("source") == Marks()  # it died before its commit
    first.commit()
    second, rival = bookmarks(tmp_path, "r2"), bookmarks(tmp_path, "r3")
    assert second.marks("source") == Marks(after={"n": 1})
    for item, number in ((second, 2), (rival, 3)):
        item.propose("source", {"n": number})
    second.propose("other", {"m": 1})
    second.commit()
    with pytest.raises(ConcurrentModification, match="changed by another run"):
        rival.commit()
    second.commit()  # a second commit of a run has nothing new
    paused = bookmarks(tmp_path, paused=True)
    assert paused.marks("other") == Marks(after={"m": 1})
    paused.propose("source", {"n": 9})
    paused.commit()
    between = bookmarks(tmp_path, paused=True, after="r1", upto="r2")
    assert between.marks("source") == Marks(after={"n": 1}, upto={"n": 2})
    kept = FileBookmarks(tmp_path, "j/1")
    assert kept.runs() == ["r1", "r2"]
    with pytest.raises(InvalidInput, match="belong together"):
        bookmarks(tmp_path, paused=True, after="r1")
    with pytest.raises(NotFound, match="no run r9"):
        kept.reset("r9")
    kept.reset("r1")
    assert bookmarks(tmp_path).marks("source") == Marks(after={"n": 1})
    kept.reset()
    assert bookmarks(tmp_path).marks("source") == Marks()


def test_the_last_commits_are_kept(tmp_path: Path) -> None:
    for number in range(30):
        run = bookmarks(tmp_path, f"r{number}")
        run.propose("source", {"n": number})
        run.commit()
    assert FileBookmarks(tmp_path, "j/1").runs() == [f"r{number}" for number in range(10, 30)]


def test_the_server_that_started_the_run_keeps_its_bookmark(tmp_path: Path) -> None:
    assert bookmark_store("j", "r", {FOLDER: str(tmp_path)}) == FileBookmarks(tmp_path, "j", "r")
    result = bookmark_store("j", "r", {"PENSTOCK_RUN_URL": "http://h/runs/1", "PENSTOCK_RUN_TOKEN": "t"})
    assert isinstance(result, ServerBookmarks)


def test_placeholders_for_buckets_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'\{YOUR-BUCKET\}' of s3://\{YOUR-BUCKET\}/out is not a bucket's name"):
        check_bucket(cast(SparkSession, None), "s3://{YOUR-BUCKET}/out")

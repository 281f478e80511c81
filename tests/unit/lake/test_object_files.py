"""The ledger on an object store, which has no rename: no kill before or behind a request loses or doubles a file."""

import io
from typing import Any, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from penstock.lake.files import FileSystem
from penstock.lake.ledger import BatchState, CommitHooks, Ledger, Manifest, plan_moves
from penstock.lake.object_files import RECORD, ObjectFiles
from penstock.testing.suites import FileSystemSuite
from tests.unit.lake.memory_s3 import MemoryS3
from tests.unit.lake.test_ledger import DEAD, QUERY, TABLE, Catalog, Crash, Crashes, batch


def object_files(store: MemoryS3) -> ObjectFiles:
    return ObjectFiles(cast("Any", store), part_size=4)


class TestObjectFiles(FileSystemSuite):
    @pytest.fixture
    def files(self) -> FileSystem:
        return object_files(MemoryS3())

    @pytest.fixture
    def root(self) -> str:
        return "s3://lake/some/folder"


class Objects(ObjectFiles):
    """Files of a store in memory; ``files`` are its objects, by location."""

    def __init__(self, store: MemoryS3) -> None:
        super().__init__(cast("Any", store), part_size=4)
        self.files = store.objects


def opened(files: ObjectFiles, query: str = QUERY, *, adopt: bool = False) -> Ledger:
    ledger = Ledger(files, table=TABLE, also=(DEAD,), pipeline="p", query=query, uploads=files)
    ledger.open(adopt=adopt)
    return ledger


def stage(files: ObjectFiles, ledger: Ledger, number: int, content: bytes) -> Manifest:
    """Upload files of both tables, and return the manifest of their records."""
    moves = []
    for table, (location, names) in enumerate(((TABLE, ["day=1/a", "day=1/b"]), (DEAD, ["date=2/c"]))):
        ending = ".parquet" if table else ".snappy.parquet"
        data = {f"/local/{name}{ending}": content + name.encode() for name in names}
        sizes = {name: len(body) for name, body in data.items()}
        for move in plan_moves(sizes, folder="/local", table=location, query=QUERY, batch=number):
            record = f"{ledger.staging(number, table)}{move.final.removeprefix(location)}{RECORD}"
            files.upload(io.BytesIO(data[move.staged]), move.final, record)
            moves.append(type(move)(record, move.final, move.size))
    return Manifest(batch=batch(number), moves=tuple(moves))


def commit(files: ObjectFiles, ledger: Ledger, number: int, content: bytes, hooks: CommitHooks | None = None) -> BatchState:
    return ledger.run(batch(number), lambda: stage(files, ledger, number, content), hooks)


class ObjectCrashes(Crashes):
    """The stream of :class:`Crashes`, killed before any request that changes the store, or before its answer came."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryS3(self.before, self.before)
        self.files: Objects = Objects(self.store)  # type: ignore[assignment]
        self.files.files.update(self.foreign)
        self.store.uploads["another's"] = (f"{TABLE}/day=1/part-{'e' * 32}-0000000000-0000.parquet", {}, {})

    def run_batch(self, crash_after: int | None, number: int) -> None:
        self.countdown, self.attempt = crash_after, self.attempt + 1
        try:
            ledger = opened(self.files)
            ledger.clear_staging()
            commit(self.files, ledger, number, b"%d/%d:" % (number, self.attempt), Catalog(self))
        except Crash:
            return
        finally:
            self.countdown = None
        if number == self.next:  # a replay leaves those of the batch behind it, which may be prepared
            assert list(self.store.uploads) == ["another's"]
        self.next = max(self.next, number + 1)

    @rule(steps=st.integers(20, 90))
    def die_late(self, steps: int) -> None:
        self.run_batch(steps, self.next)

    @rule(ended=st.integers(1, 3))
    def the_store_ends_uploads(self, ended: int) -> None:
        """As a rule of its life cycle does with those that are some days old."""
        for number in [name for name in self.store.uploads if name != "another's"][:ended]:
            del self.store.uploads[number]

    @invariant()
    def uploads_are_no_files(self) -> None:
        assert not any("another's" in path for path in self.files.files)


ObjectCrashes.TestCase.settings = settings(max_examples=100, stateful_step_count=25, deadline=None)
TestObjectCrashes = ObjectCrashes.TestCase


class Dies(CommitHooks):
    """Hooks with which the process is killed behind the first file."""

    def moved(self, count: int) -> None:
        raise Crash


def test_nothing_is_copied_and_no_data_file_is_written_but_by_uploads() -> None:
    calls: list[str] = []
    store = MemoryS3(calls.append)
    files = Objects(store)
    commit(files, opened(files), 0, b"a")
    assert "copy" not in calls
    assert calls.count("complete") == 3
    assert store.uploads == {}
    assert not any(path.endswith(RECORD) for path in store.objects)


def test_a_completion_whose_answer_was_lost_is_not_done_twice() -> None:
    store = MemoryS3()
    files = Objects(store)
    files.upload(io.BytesIO(b"0123456789"), "s3://lake/t/part", "s3://lake/h/record.upload")
    record = store.objects["s3://lake/h/record.upload"]
    files.move("s3://lake/h/record.upload", "s3://lake/t/part")
    store.objects["s3://lake/h/record.upload"] = record
    assert files.exists("s3://lake/h/record.upload")
    files.move("s3://lake/h/record.upload", "s3://lake/t/part")
    assert store.objects == {"s3://lake/t/part": b"0123456789"}


def test_an_object_of_the_same_name_is_not_taken_for_the_upload() -> None:
    store = MemoryS3()
    files = Objects(store)
    files.upload(io.BytesIO(b"new"), "s3://lake/t/part", "s3://lake/h/record.upload")
    store.uploads.clear()
    store.objects["s3://lake/t/part"] = b"old"
    assert not files.exists("s3://lake/h/record.upload")
    with pytest.raises(FileNotFoundError):
        files.move("s3://lake/h/record.upload", "s3://lake/t/part")
    assert store.objects == {"s3://lake/t/part": b"old"}


def test_an_upload_whose_partition_moved_meanwhile_goes_where_the_partition_is() -> None:
    store = MemoryS3()
    files = Objects(store)
    files.upload(io.BytesIO(b"text"), "s3://lake/t/day=1/part", "s3://lake/h/record.upload")
    files.move("s3://lake/h/record.upload", "s3://lake/t/_compacted/000001/day=1/part")
    assert store.objects == {"s3://lake/t/_compacted/000001/day=1/part": b"text"}


def test_a_batch_that_another_query_adopts_leaves_no_upload() -> None:
    store = MemoryS3()
    files = Objects(store)
    commit(files, opened(files), 0, b"a")
    with pytest.raises(Crash):
        commit(files, opened(files), 1, b"b", Dies())
    files.upload(io.BytesIO(b"x"), f"{TABLE}/day=1/part-{QUERY}-0000000001-0009.parquet", f"{TABLE}/h/record.upload")
    del store.objects[f"{TABLE}/h/record.upload"]
    opened(files, "f" * 32, adopt=True).clear_staging()
    assert store.uploads == {}
    assert not any("-0000000001-" in path for path in store.objects if "_penstock" not in path)

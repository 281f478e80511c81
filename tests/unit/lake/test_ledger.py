"""The commit ledger over an in-memory file system: replays are no-ops, and no crash at any step loses or doubles a file."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.errors import DataProblem
from penstock.lake import ledger as ledger_module
from penstock.lake.files import MemoryFiles
from penstock.lake.ledger import Batch, BatchState, CommitHooks, Ledger, Manifest, final_name, plan_moves

QUERY = "0" * 31 + "1"
TABLE = "s3://lake/flights"
DEAD = "s3://lake/dead"


class Crash(Exception):
    """The process dies at this point."""


def batch(number: int, *, start: int = 0, end: int = 10) -> Batch:
    return Batch(number, f'{{"t": {{"0": {start}}}}}', f'{{"t": {{"0": {end}}}}}')


def opened(files: MemoryFiles, query: str = QUERY, *, adopt: bool = False) -> Ledger:
    ledger = Ledger(files, table=TABLE, also=(DEAD,), pipeline="p", query=query)
    ledger.open(adopt=adopt)
    return ledger


def stage(files: MemoryFiles, ledger: Ledger, number: int, content: bytes, *, parts: int = 2) -> Manifest:
    """Stage files of both tables and return the manifest, as the runner does."""
    for table, (location, names) in enumerate(
        ((TABLE, [f"day=1/part-0000{n}-x.c000.snappy.parquet" for n in range(parts)]), (DEAD, ["date=2/part-0.parquet"]))
    ):
        files.delete(ledger.staging(number, table))
        for name in names:
            files.write(f"{ledger.staging(number, table)}/{name}", content + name.encode())
        del location
    files.write(f"{ledger.staging(number)}/_SUCCESS", b"")
    moves = [
        move
        for table, location in enumerate((TABLE, DEAD))
        for move in plan_moves(
            files.walk(ledger.staging(number, table)),
            folder=ledger.staging(number, table),
            table=location,
            query=QUERY,
            batch=number,
        )
    ]
    return Manifest(batch=batch(number), moves=tuple(moves), facts={"rows": parts})


def commit(files: MemoryFiles, ledger: Ledger, number: int, content: bytes, hooks: CommitHooks | None = None) -> BatchState:
    return ledger.run(batch(number), lambda: stage(files, ledger, number, content), hooks)


def refused() -> Manifest:
    raise AssertionError("the batch was staged")


class Dies(CommitHooks):
    """Hooks that let the process die when the files are in place, before the commit."""

    def update_catalog(self, manifest: Manifest) -> None:
        raise Crash


class Diary(CommitHooks):
    """Hooks that record their calls, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.seen.append(name)
        yield

    def moved(self, count: int) -> None:
        self.seen.append(f"moved {count}")

    def update_catalog(self, manifest: Manifest) -> None:
        self.seen.append(f"facts {dict(manifest.facts)}")

    def committed(self, manifest: Manifest) -> None:
        self.seen.append(f"committed {manifest.batch.id}")


def visible(files: MemoryFiles) -> dict[str, bytes]:
    """Return the files that readers of the tables see: those without a hidden folder in their paths."""
    return {path: data for path, data in files.files.items() if "/_penstock/" not in path}


def test_names_are_deterministic_and_keep_the_partition() -> None:
    staged = {
        "f/day=1/part-00000-abc.c000.snappy.parquet": 7,
        "f/day=1/_SUCCESS": 0,
        "f/day=1/.part.crc": 1,
        "f/_temporary/0/x.parquet": 1,
    }
    moves = plan_moves(staged, folder="f/", table="t/", query=QUERY, batch=7)
    assert [(move.final, move.size) for move in moves] == [(f"t/day=1/part-{QUERY}-0000000007-0000.snappy.parquet", 7)]


def test_a_new_process_recognizes_a_committed_batch() -> None:
    files = MemoryFiles()
    commit(files, opened(files), 0, b"a")
    before = dict(files.files)
    commit(files, opened(files), 0, b"b")
    assert files.files == before


def test_the_steps_are_in_order_and_a_batch_that_is_run_again_continues_at_its_step() -> None:
    files = MemoryFiles()
    publish = ["publish", "moved 1", "moved 2", "moved 3", "catalog", "facts {'rows': 2}", "commit", "committed 0"]
    diary = Diary()
    assert commit(files, opened(files), 0, b"a", diary) == "new"
    assert diary.seen == ["prepare", *publish]
    files = MemoryFiles()
    with pytest.raises(Crash):
        commit(files, opened(files), 0, b"a", Dies())
    diary = Diary()
    assert commit(files, opened(files), 0, b"b", diary) == "prepared"
    assert diary.seen == publish
    diary = Diary()
    assert opened(files).run(batch(0), refused, diary) == "committed"
    assert diary.seen == ["committed 0"]


def test_the_same_number_with_other_offsets_is_refused() -> None:
    files = MemoryFiles()
    commit(files, opened(files), 0, b"a")
    with pytest.raises(DataProblem, match=r"Batch 0 .* was committed with offsets .* now comes with"):
        opened(files).run(batch(0, end=11), refused)


def test_a_batch_from_before_the_last_commits_is_refused() -> None:
    files = MemoryFiles()
    ledger = opened(files)
    for number in (1, 2):
        commit(files, ledger, number, b"a")
    with pytest.raises(DataProblem, match="an older checkpoint was restored"):
        ledger.run(batch(0), refused)


def test_another_query_is_refused_unless_adopted() -> None:
    files = MemoryFiles()
    commit(files, opened(files), 0, b"a")
    other = "f" * 32
    with pytest.raises(DataProblem, match="belongs to query"):
        opened(files, other)
    ledger = opened(files, other, adopt=True)
    assert ledger.last() is not None
    assert ledger.run(batch(0, start=10, end=20), lambda: Manifest(batch=batch(0, start=10, end=20), moves=())) == "new"
    assert opened(files, other).current_query() == other


def test_adoption_rolls_back_a_half_published_batch_of_the_old_query() -> None:
    files = MemoryFiles()
    ledger = opened(files)
    commit(files, ledger, 0, b"a")
    committed = visible(files)
    with pytest.raises(Crash):
        commit(files, ledger, 1, b"b", Dies())
    assert visible(files) != committed
    opened(files, "f" * 32, adopt=True)
    assert visible(files) == committed


def test_a_ledger_without_commits_accepts_any_query() -> None:
    files = MemoryFiles()
    opened(files)
    opened(files, "f" * 32)


def test_old_manifests_are_deleted_and_the_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "KEEP", 3)
    files = MemoryFiles()
    ledger = opened(files)
    for number in range(10):
        commit(files, ledger, number, b"a")
    assert [manifest.batch.id for manifest in ledger.recent(100)] == [9, 8, 7]
    assert len(files.walk(f"{TABLE}/_penstock")) == 4  # three manifests and the query's marker
    assert len(visible(files)) == 30


def test_a_damaged_manifest_is_named() -> None:
    files = MemoryFiles()
    commit(files, opened(files), 0, b"a")
    path = next(path for path in files.files if path.endswith(".committed"))
    files.files[path] = b"{"
    with pytest.raises(DataProblem, match=r"0000000000\.committed is damaged"):
        opened(files).run(batch(0), refused)


def test_a_missing_file_stops_the_publication_and_the_next_run_stages_again() -> None:
    files = MemoryFiles()

    class Loses(CommitHooks):
        @contextmanager
        def step(self, name: str) -> Iterator[None]:
            if name == "publish":
                files.delete(next(path for path in files.files if "/staging/" in path and path.endswith(".parquet")))
            yield

    with pytest.raises(DataProblem, match="is gone"):
        commit(files, opened(files), 0, b"a", Loses())
    assert commit(files, opened(files), 0, b"b") == "new"
    assert {data[:1] for data in visible(files).values()} == {b"b"}


class Crashes(RuleBasedStateMachine):
    """A stream whose process dies before any change to files or catalog; batches must be complete, in order, once."""

    def __init__(self) -> None:
        super().__init__()
        self.countdown: int | None = None
        self.files = MemoryFiles(self.before)
        self.foreign = {f"{TABLE}/day=1/somebody-elses.parquet": b"x"}
        self.files.files.update(self.foreign)
        self.in_catalog: set[int] = set()
        self.next = 0
        self.attempt = 0

    def before(self, _: str) -> None:
        if self.countdown is not None:
            self.countdown -= 1
            if self.countdown < 0:
                raise Crash

    def run_batch(self, crash_after: int | None, number: int) -> None:
        self.countdown = crash_after
        self.attempt += 1
        content = b"%d/%d:" % (number, self.attempt)
        try:
            ledger = opened(self.files)
            ledger.clear_staging()
            commit(self.files, ledger, number, content, Catalog(self))
        except Crash:
            return
        finally:
            self.countdown = None
        self.next = max(self.next, number + 1)

    @rule(steps=st.integers(0, 25))
    def die_in_next_batch(self, steps: int) -> None:
        self.run_batch(steps, self.next)

    @rule()
    def run_next_batch(self) -> None:
        self.run_batch(None, self.next)

    @precondition(lambda self: self.next > 0)
    @rule()
    def replay_last_batch(self) -> None:
        before = visible(self.files)
        self.run_batch(None, self.next - 1)
        assert visible(self.files) == before

    @rule(parts=st.integers(1, 3))
    def lose_a_staged_file(self, parts: int) -> None:
        staged = [path for path in self.files.files if "/staging/" in path]
        for path in staged[:parts]:
            del self.files.files[path]

    @invariant()
    def committed_batches_are_whole_and_once(self) -> None:
        seen = visible(self.files)
        for path, data in self.foreign.items():
            assert seen.pop(path) == data
        assert self.in_catalog.issuperset(range(self.next))
        for number in range(self.next):
            expected = [f"{TABLE}/day=1/{final_name(QUERY, number, part, '.snappy.parquet')}" for part in range(2)]
            expected.append(f"{DEAD}/date=2/{final_name(QUERY, number, 0, '.parquet')}")
            results = {path: data for path, data in seen.items() if f"-{number:010d}-" in path}
            assert sorted(results) == sorted(expected)
            assert len({data.partition(b":")[0] for data in results.values()}) == 1, "files of two attempts"
        later = [path for path in seen if int(path.split("-")[-2]) > self.next]
        assert not later


class Catalog(CommitHooks):
    """Records the batches that the catalog has; the process may die before that."""

    def __init__(self, machine: Crashes) -> None:
        self._machine = machine

    def update_catalog(self, manifest: Manifest) -> None:
        self._machine.before("catalog")
        self._machine.in_catalog.add(manifest.batch.id)


Crashes.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestCrashes = Crashes.TestCase

"""Compaction of a Parquet table in memory: no row is lost or doubled, whatever is killed and whatever comes between."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from penstock.errors import ConcurrentModification
from penstock.lake.files import MemoryFiles
from penstock.lake.ledger import Batch, Ledger, Manifest, plan_moves
from penstock.lake.visible import CommittedBatches
from penstock.spark.maintenance.parquet import ParquetCompactor, PartitionPlace
from penstock.spark.maintenance.settings import CompactionSettings

TABLE = "s3://lake/orders"
QUERY = "a" * 32
OLD = datetime(2020, 1, 1, tzinfo=UTC)


class Crash(BaseException):
    """The process dies at this point."""


class Catalog:
    """The table's partitions in memory."""

    def __init__(self) -> None:
        self.locations = {day: f"{TABLE}/day={day}" for day in ("1", "2")}

    def all(self) -> list[PartitionPlace]:
        return [
            PartitionPlace(values=(day,), folder=f"day={day}", location=location, created=OLD)
            for day, location in self.locations.items()
        ]

    def move(self, partition: PartitionPlace, *, source: str, target: str) -> None:
        (day,) = partition.values
        if self.locations[day] not in {source, target}:
            raise ConcurrentModification("The partition was moved.")
        self.locations[day] = target


class World:
    """A table of files with a line for each row, a stream that appends, a compaction and a reader."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.catalog = Catalog()
        self.ledger = Ledger(self.files, table=TABLE, pipeline="p", query=QUERY)
        self.ledger.open()
        self.batches = 0

    def rewrite(self, inputs: Sequence[str], folder: str, *, files: int, compression: str) -> int:
        content = b"".join(self.files.read(path) for path in inputs)
        self.files.write(f"{folder}/part-00000-x.parquet", content)
        return content.count(b"\n")

    def compact(self, *, grace: float = 0.0, now: float = 2e9) -> None:
        settings = CompactionSettings(grace=grace, min_files=2)
        self.compactor(settings, now).run()

    def compactor(self, settings: CompactionSettings, now: float = 2e9) -> ParquetCompactor:
        return ParquetCompactor(
            "shop.orders",
            TABLE,
            files=self.files,
            partitions=self.catalog,
            rewriter=self,
            settings=settings,
            now=lambda: now,
        )

    def append(self) -> None:
        """Commit a batch of one row in each partition."""
        number = self.batches

        def stage() -> Manifest:
            folder = self.ledger.staging(number)
            self.files.delete(folder)
            for day in ("1", "2"):
                self.files.write(f"{folder}/day={day}/part-0.parquet", b"%d\n" % number)
            moves = plan_moves(self.files.walk(folder), folder=folder, table=TABLE, query=QUERY, batch=number)
            return Manifest(batch=Batch(number, "{}", f'{{"o": {number}}}'), moves=moves)

        self.ledger.run(Batch(number, "{}", f'{{"o": {number}}}'), stage)
        self.batches += 1

    def read(self, day: str) -> list[int]:
        """The rows of a partition as the SQL reads them: committed batches first, then the location, then its files."""
        committed = CommittedBatches(TABLE, names=self.files.names, read=lambda path: self.files.read(path).decode())
        folder = self.catalog.locations[day] + "/"
        names = [path for path in self.files.walk(folder) if not path[len(folder) :].startswith(("_", "."))]
        counted = [path for path in names if committed.counts(path.rpartition("/")[2])]
        return sorted(int(line) for path in counted for line in self.files.read(path).split())


def made(batches: int = 3) -> World:
    world = World()
    for _ in range(batches):
        world.append()
    return world


def changes(world: World) -> int:
    """How many changes of files one compaction makes."""
    count = 0

    def before(_: str) -> None:
        nonlocal count
        count += 1

    world.files._before = before
    world.compact()
    return count


STEPS = range(changes(made()) + 1)


def test_small_files_become_one_and_the_old_ones_go_after_the_grace_time() -> None:
    world = made()
    (first, second) = world.compactor(CompactionSettings(grace=60), now=2e9).run()
    assert (first.partition, first.done, first.files_before, first.files_after) == ("day=1", "swapped", 3, 1)
    assert second.partition == "day=2"
    assert world.catalog.locations["1"] == f"{TABLE}/_compacted/000000/day=1"
    assert world.read("1") == [0, 1, 2]
    assert len(world.files.walk(f"{TABLE}/day=1")) == 3
    assert world.compactor(CompactionSettings(grace=60), now=2e9 + 59).run() == []
    deleted = world.compactor(CompactionSettings(grace=60), now=2e9 + 60).run()
    assert [(partition_report.partition, partition_report.done) for partition_report in deleted] == [
        ("day=1", "deleted"),
        ("day=2", "deleted"),
    ]
    assert world.files.walk(f"{TABLE}/day=1") == {}
    assert world.read("1") == [0, 1, 2]
    assert world.compactor(CompactionSettings(), now=2e9 + 9999).run() == [], "one file is not compacted"


def test_late_rows_of_a_compacted_partition_are_read_and_compacted_again() -> None:
    world = made()
    world.compact()
    world.append()
    world.append()
    assert world.read("1") == [0, 1, 2, 3, 4]
    world.compact()
    assert world.catalog.locations["1"] == f"{TABLE}/_compacted/000001/day=1"
    assert world.read("1") == world.read("2") == [0, 1, 2, 3, 4]


def test_a_dry_run_changes_nothing() -> None:
    world = made()
    before = dict(world.files.files)
    reports = world.compactor(CompactionSettings()).run(dry_run=True)
    assert [(report.done, report.files_before, report.files_after) for report in reports] == [("planned", 3, None)] * 2
    assert world.files.files == before


def test_young_partitions_and_those_with_few_small_files_are_left_alone() -> None:
    world = made()
    young = CompactionSettings(older_than=86_400)
    assert world.compactor(young, now=OLD.timestamp() + 86_399).run(dry_run=True) == []
    assert len(world.compactor(young, now=OLD.timestamp() + 86_400).run(dry_run=True)) == 2
    assert world.compactor(CompactionSettings(min_files=4)).run(dry_run=True) == []
    assert world.compactor(CompactionSettings(target_file_size=2)).run(dry_run=True) == [], "files of the target's size"


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_before_any_step_loses_and_doubles_nothing(step: int) -> None:
    world = made()
    count = 0

    def before(_: str) -> None:
        nonlocal count
        count += 1
        if count > step:
            raise Crash

    world.files._before = before
    with suppress(Crash):
        world.compact()
    world.files._before = lambda _: None
    assert world.read("1") == world.read("2") == [0, 1, 2], "before the compaction goes on"
    world.append()
    world.compact()
    assert world.read("1") == world.read("2") == [0, 1, 2, 3]
    world.compact()
    left = [path for path in world.files.walk(TABLE) if "/_penstock/" not in path]
    assert [path for path in left if f"{TABLE}/day=" in path] == []
    assert world.read("1") == world.read("2") == [0, 1, 2, 3]


@pytest.mark.parametrize("step", STEPS)
def test_a_batch_between_any_two_steps_is_read_once(step: int) -> None:
    world = made()
    count = 0

    def before(_: str) -> None:
        nonlocal count
        count += 1
        if count == step + 1:
            world.append()

    world.files._before = before
    world.compact()
    world.files._before = lambda _: None
    rows = [0, 1, 2, *([3] if step < count else [])]
    assert world.read("1") == world.read("2") == rows[: world.batches]
    world.compact()
    assert world.read("1") == world.read("2") == list(range(world.batches))


@pytest.mark.parametrize("step", range(40))
def test_a_compaction_between_any_two_steps_of_a_batch_loses_nothing(step: int) -> None:
    world = made()
    count = 0

    def before(_: str) -> None:
        nonlocal count
        count += 1
        if count == step + 1:
            world.compact()

    world.files._before = before
    world.append()
    world.files._before = lambda _: None
    assert world.read("1") == world.read("2") == [0, 1, 2, 3]


def test_a_batch_that_is_killed_around_a_compaction_is_completed() -> None:
    for step in range(40):
        world = made()
        count = 0

        def before(_: str) -> None:
            nonlocal count
            count += 1
            if count == step + 1:  # noqa: B023
                raise Crash

        world.files._before = before
        with suppress(Crash):
            world.append()
        world.files._before = lambda _: None
        world.compact()
        world.append() if world.batches == 3 else None
        assert world.read("1") == world.read("2") == [0, 1, 2, 3], step


def test_a_partition_that_someone_moved_is_not_swapped() -> None:
    world = made()
    compactor = world.compactor(CompactionSettings())
    rewrite = world.rewrite

    def moved(inputs: Sequence[str], folder: str, *, files: int, compression: str) -> int:
        world.catalog.locations["1"] = "s3://lake/elsewhere"
        return rewrite(inputs, folder, files=files, compression=compression)

    world.rewrite = moved  # type: ignore[method-assign]
    with pytest.raises(ConcurrentModification):
        compactor.run()
    assert len(world.files.walk(f"{TABLE}/day=1")) == 3

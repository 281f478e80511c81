"""Ends of statements that write: a failure, a crash or a stop at each step leaves all of it or nothing."""

import queue
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from penstock.api.aws.catalog.changes import CatalogOperations
from penstock.catalog.service import CatalogService
from penstock.owners import _living
from penstock.query.execution.children import ChildPool
from penstock.query.permitted_catalog import PermittedCatalog
from penstock.query.results.sinks import LakeSink
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.query.task import Commit
from penstock.query.writing.publishing import Committer, forget, recover
from penstock.retries import wait_until
from penstock.sql.errors import StatementError
from penstock.statements.model import StatementId, StatementState
from tests.unit.query.lake_of_flights import Lake, finished, service_over
from tests.unit.query.writing.test_create_table_as import files

RESULT = "s3://lake/athena-results/id.csv"


class Crash(BaseException):
    """The process is gone: nothing that comes after it happens."""


@dataclass
class Faults:
    """Raises ``error`` at step ``at``, and for a crash at each that follows."""

    at: int
    error: Callable[[], BaseException]
    steps: list[str] = field(default_factory=list)

    def step(self, what: str) -> None:
        self.steps.append(what)
        if len(self.steps) - 1 == self.at or (len(self.steps) > self.at and self.error is Crash):
            raise self.error()


@dataclass
class FaultySink:
    """The lake's sink with faults before each change."""

    sink: LakeSink
    faults: Faults

    def check(self, location: str) -> None:
        self.sink.check(location)

    def put(self, uri: str, file: Path) -> None:
        self.faults.step(f"put {uri}")
        self.sink.put(uri, file)

    def take(self, files: Sequence[tuple[str, Path]]) -> None:
        for uri, file in files:
            self.put(uri, file)

    def remove(self, uri: str) -> None:
        if self.faults.error is Crash:
            self.faults.step(f"remove {uri}")
        self.sink.remove(uri)

    def open(self, uri: str, offset: int = 0) -> BinaryIO:
        return self.sink.open(uri, offset)


@dataclass
class FaultyChanges:
    """The catalog's changes with faults before each."""

    changes: CatalogOperations
    faults: Faults

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        if self.faults.error is Crash or not operation.startswith("Delete"):
            self.faults.step(operation)
        return self.changes.change(operation, request)


@pytest.fixture
def changes(catalog: CatalogService) -> CatalogOperations:
    return CatalogOperations(catalog, account="000000000000", region="us-east-1")


def commit_of(folder: Path) -> Commit:
    """Return a commit of two files, a ledger's entry, a table and its partitions."""
    (folder / "data").mkdir()
    for name in ("data/1", "data/2", "manifest"):
        (folder / name).write_text(name)
    storage = {"Columns": [{"Name": "x", "Type": "int"}], "Location": "s3://lake/t/"}
    table = {"Name": "t", "StorageDescriptor": storage, "PartitionKeys": [{"Name": "p", "Type": "string"}]}
    partitions = [{"Values": ["1"], "StorageDescriptor": storage}]
    ledger = f"s3://lake/t/_penstock/sql/ledger/0000-{'a' * 32}/0000000000"
    return Commit(
        files=[("data/1", "s3://lake/t/p=1/1"), ("data/2", "s3://lake/t/p=1/2")],
        changes=[
            ("CreateTable", {"DatabaseName": "db", "TableInput": table}),
            ("BatchCreatePartition", {"DatabaseName": "db", "TableName": "t", "PartitionInputList": partitions}),
        ],
        undo=[("DeleteTable", {"DatabaseName": "db", "Name": "t"})],
        prepared=("manifest", f"{ledger}.prepared"),
        committed=("manifest", f"{ledger}.committed"),
    )


STEPS = [
    f"put {RESULT}.journal",
    "put .*prepared",
    "put s3://lake/t/p=1/1",
    "put s3://lake/t/p=1/2",
    "CreateTable",
    "BatchCreatePartition",
    "put .*committed",
    f"put {RESULT}.journal",
]


def run(lake: Lake, catalog: CatalogService, changes: CatalogOperations, folder: Path, faults: Faults) -> None:
    """Run the commit with ``faults``."""
    folder.mkdir()
    permitted = PermittedCatalog(catalog, FaultyChanges(changes, faults), None)
    Committer(permitted, FaultySink(LakeSink(lake.folder), faults), folder, RESULT).run(
        commit_of(folder), lambda: None, lambda: None
    )


def left(lake: Lake, catalog: CatalogService) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of the files and of the tables."""
    root = lake.folder.root / "lake/t"
    return sorted(path.name for path in root.rglob("*") if path.is_file()), [table.name for table in catalog.tables("db")]


ALL = (["0000000000.committed", "0000000000.prepared", "1", "2"], ["t"])


def test_the_steps_are_in_the_order_that_readers_need(
    lake: Lake, catalog: CatalogService, changes: CatalogOperations, tmp_path: Path
) -> None:
    faults = Faults(-1, StatementError)  # type: ignore[arg-type]
    run(lake, catalog, changes, tmp_path / "folder", faults)
    assert all(re.fullmatch(expected, step) for expected, step in zip(STEPS, faults.steps, strict=True)), faults.steps
    assert left(lake, catalog) == ALL
    sink = LakeSink(lake.folder)
    assert recover(RESULT, changes, sink)
    forget(RESULT, sink)
    assert not recover(RESULT, changes, sink)
    assert left(lake, catalog) == ALL


@pytest.mark.parametrize("at", range(len(STEPS)))
def test_a_failure_at_a_step_takes_back_the_steps_before(
    lake: Lake, catalog: CatalogService, changes: CatalogOperations, tmp_path: Path, at: int
) -> None:
    with pytest.raises(StatementError, match="the disk is full"):
        run(lake, catalog, changes, tmp_path / "folder", Faults(at, lambda: StatementError("FAILED", "the disk is full")))
    assert left(lake, catalog) == ([], [])
    assert not (lake.folder.root / "lake/athena-results/id.csv.journal").exists()


@pytest.mark.parametrize("at", range(len(STEPS)))
def test_a_crash_at_a_step_is_taken_back_by_another_process(
    lake: Lake, catalog: CatalogService, changes: CatalogOperations, tmp_path: Path, at: int
) -> None:
    with pytest.raises(Crash):
        run(lake, catalog, changes, tmp_path / "folder", Faults(at, Crash))
    sink = LakeSink(lake.folder)
    assert not recover(RESULT, changes, sink)
    assert left(lake, catalog) == ([], [])
    assert not recover(RESULT, changes, sink)


@dataclass
class StoppingSink:
    """A sink that runs ``then`` before it stores an object whose name matches."""

    sink: LakeSink
    pattern: str = "nothing"
    then: Callable[[], None] = lambda: None

    def check(self, location: str) -> None:
        self.sink.check(location)

    def put(self, uri: str, file: Path) -> None:
        if re.search(self.pattern, uri):
            self.then()
        self.sink.put(uri, file)

    def take(self, files: Sequence[tuple[str, Path]]) -> None:
        for uri, file in files:
            self.put(uri, file)

    def remove(self, uri: str) -> None:
        self.sink.remove(uri)

    def open(self, uri: str, offset: int = 0) -> BinaryIO:
        return self.sink.open(uri, offset)


@pytest.fixture
def stopping(lake: Lake) -> StoppingSink:
    return StoppingSink(LakeSink(lake.folder))


@pytest.fixture
def service(
    *, lake: Lake, catalog: CatalogService, changes: CatalogOperations, settings: QuerySettings, children: ChildPool,
    stopping: StoppingSink,
) -> Iterator[QueryService]:  # fmt: skip
    made = service_over(lake, settings, children, catalog=catalog, changes=changes, sink=stopping)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("pattern", "state"),
    [
        (r"\.metadata$", StatementState.CANCELLED),
        (r"-manifest\.csv$", StatementState.CANCELLED),
        (r"\.journal$", StatementState.SUCCEEDED),
        (r"\.parquet$", StatementState.SUCCEEDED),
    ],
)
def test_a_stop_is_in_time_or_too_late_and_never_both(
    *,
    lake: Lake,
    catalog: CatalogService,
    service: QueryService,
    stopping: StoppingSink,
    pattern: str,
    state: StatementState,
) -> None:
    request = StatementRequest(sql="CREATE TABLE t WITH (external_location='s3://lake/t/') AS SELECT 1 AS x", database="db")
    started: queue.Queue[str] = queue.Queue()
    stopping.pattern = pattern

    def stop() -> None:
        stopping.pattern = "nothing"
        service.stop(started.get(timeout=30))

    stopping.then = stop
    statement = service.start(request)
    started.put(statement)
    assert finished(service, statement).state is state
    there = state is StatementState.SUCCEEDED
    assert (len(files(lake, "t")), len(catalog.tables("db"))) == ((1, 1) if there else (0, 0))
    service.close()  # the journal goes after the state is stored
    assert not list((lake.folder.root / "lake/athena-results").glob("*.journal"))


@pytest.mark.parametrize("pattern", [r"\.metadata$", r"-manifest\.csv$", r"\.journal$", r"\.parquet$"])
def test_a_process_that_was_stopped_writes_nothing_of_a_statement_that_another_one_has_ended(
    *,
    lake: Lake,
    catalog: CatalogService,
    changes: CatalogOperations,
    settings: QuerySettings,
    children: ChildPool,
    service: QueryService,
    stopping: StoppingSink,
    pattern: str,
) -> None:
    other = service_over(
        lake, settings, children, catalog=catalog, changes=changes, store=service._store, sink=LakeSink(lake.folder)
    )
    started: queue.Queue[str] = queue.Queue()

    def stop() -> None:
        stopping.pattern = "nothing"
        _living.discard(service._ownership.name)
        assert other.get(started.get(timeout=30)).state is StatementState.FAILED

    finished(
        service,
        service.start(
            StatementRequest(sql="CREATE EXTERNAL TABLE t (x int) STORED AS PARQUET LOCATION 's3://lake/t/'", database="db")
        ),
    )
    stopping.pattern, stopping.then = pattern, stop
    statement = service.start(StatementRequest(sql="INSERT INTO t VALUES (1)", database="db"))
    started.put(statement)
    assert wait_until(lambda: stopping.pattern == "nothing" and service._watch.find(statement) is None, seconds=60)
    assert service.get(statement).state is StatementState.FAILED
    other.close()
    assert not [path for path in (lake.folder.root / "lake/t").rglob("*") if path.is_file()]
    assert not list((lake.folder.root / "lake/athena-results").glob("*.journal"))


@pytest.mark.parametrize(
    ("at", "state", "there"), [(3, StatementState.FAILED, ([], [])), (99, StatementState.SUCCEEDED, ALL)]
)
def test_a_lost_statement_ends_as_its_journal_says(
    *,
    lake: Lake,
    catalog: CatalogService,
    changes: CatalogOperations,
    service: QueryService,
    tmp_path: Path,
    at: int,
    state: StatementState,
    there: object,
) -> None:
    done = finished(service, service.start(StatementRequest(sql="SELECT 1", database="db")))
    owner = f"{service._ownership.name.split(':')[0]}:999999999:x"
    service._store.add(
        replace(
            done,
            id=StatementId("lost"),
            token=None,
            substatement="INSERT",
            state=StatementState.RUNNING,
            owner=owner,
            completed=None,
            result_uri=RESULT,
        )
    )
    with pytest.raises(Crash) if at < len(STEPS) else nullcontext():
        run(lake, catalog, changes, tmp_path / "folder", Faults(at, Crash))
    assert service.recover() == 1
    assert service.get("lost").state is state
    assert left(lake, catalog) == there
    assert not (lake.folder.root / "lake/athena-results/id.csv.journal").exists()

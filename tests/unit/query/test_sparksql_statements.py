"""Statements of a work group that selects Spark SQL, up to what Spark is given; its answers are in the integration tests."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.lakeformation.decisions import Rows as AllowedRows
from penstock.lakeformation.decisions import TableAccess
from penstock.query.execution.children import ChildPool
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.spark_query import FilesRead, SparkQuery, SparkRows
from penstock.statements.model import Statement
from penstock.statements.work_groups import SPARK_SQL, WorkGroupSettings
from tests.unit.query.lake_of_flights import Lake, finished, service_over


class Cluster:
    """Spark's place: keeps what it is asked, and answers with one row of one bigint."""

    def __init__(self) -> None:
        self.requests: list[SparkQuery] = []
        self.fails: StatementError | None = None
        self.waits = False

    def compute(self, query: SparkQuery, file: Path, stop: Callable[[], bool], /) -> SparkRows:
        self.requests.append(query)
        while self.waits and not stop():
            time.sleep(0.01)
        if self.fails is not None:
            raise self.fails
        table = pa.table({"c0": pa.array([42], pa.int64())})
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return SparkRows(order=[0], lines=["Spark's plan"])

    def close(self) -> None:
        """Nothing runs."""


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def made(lake: Lake, settings: QuerySettings, children: ChildPool, cluster: Cluster | None) -> QueryService:
    service = service_over(lake, settings, children, cluster=cluster)
    group = WorkGroupSettings(output_location="s3://lake/big/", engine=SPARK_SQL)
    service.work_groups.create("big", group)
    return service


@pytest.fixture
def service(lake: Lake, settings: QuerySettings, children: ChildPool, cluster: Cluster) -> Iterator[QueryService]:
    query_service = made(lake, settings, children, cluster)
    yield query_service
    query_service.close()


def ask(service: QueryService, sql: str, **others: Any) -> Statement:
    return finished(service, service.start(StatementRequest(sql=sql, database="flights_db", workgroup="big", **others)))


def test_a_query_is_given_the_files_that_the_plan_needs(service: QueryService, cluster: Cluster, lake: Lake) -> None:
    done = ask(service, "SELECT count(*) AS n FROM flights WHERE month = 3 AND distance > 1e0")
    assert (done.state, done.reason, done.engine) == ("SUCCEEDED", None, SPARK_SQL)
    (request,) = cluster.requests
    (read,) = request.reads
    assert isinstance(read, FilesRead)
    assert request.sql == (
        "SELECT COUNT(*) AS `n` FROM `penstock_s0` AS `flights` "
        "WHERE `month` = 3 AND (`distance` > 1e0 AND NOT ISNAN(`distance`))"
    )
    assert request.types == ["BIGINT"]
    assert [Path(file).parent.name for file in read.files] == ["month=3"]
    assert read.base == str(lake.folder.root / "lake/flights")
    assert [list(row) for row in service.results(done.id)[1].rows] == [["n"], ["42"]]
    assert done.statistics.scanned_bytes > 0


def test_a_query_without_files_runs_here(service: QueryService, cluster: Cluster) -> None:
    assert ask(service, "SELECT table_name FROM information_schema.tables").state == "SUCCEEDED"
    assert ask(service, "SELECT greatest(1, 2)").state == "SUCCEEDED"
    assert cluster.requests == []


def test_explain_says_which_engine(service: QueryService) -> None:
    done = ask(service, "EXPLAIN SELECT count(*) AS n FROM flights")
    lines = [str(row[0]) for row in service.results(done.id)[1].rows]
    assert lines[0] == "Engine: Spark SQL"
    assert lines[1].startswith("flights_db.flights: Spark SQL reads 12 Parquet files")
    assert lines[-1] == "Spark's plan"
    assert "EXPLAIN ANALYZE is not supported" in str(ask(service, "EXPLAIN ANALYZE SELECT 1 FROM flights").reason)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ('SELECT "$path" FROM flights', "does not read the hidden column $path"),
        ("SELECT count(*) FROM flights JOIN information_schema.tables ON true", "tables of files that you may read in full"),
        ("WITH penstock_s0 AS (SELECT 1 AS n) SELECT n FROM penstock_s0, flights", "the engine's own"),
        ("SELECT round(distance) FROM flights", "'round' is not supported by the engine Spark SQL"),
        ("SELECT nothing FROM flights", "nothing"),
    ],
)
def test_what_spark_does_not_compute_alike_is_refused(service: QueryService, cluster: Cluster, sql: str, said: str) -> None:
    cluster.fails = StatementError("COLUMN_NOT_FOUND", "nothing")
    done = ask(service, sql)
    assert done.state == "FAILED"
    assert said in str(done.reason)


class _Access:
    """All is allowed, and of tables only some rows."""

    def check(self, operation: str, request: Mapping[str, Any], /) -> None: ...

    def check_athena(self, operation: str, request: Mapping[str, Any], /) -> None: ...

    def hides_columns(self) -> bool:
        return False

    def visible_columns(self, _database: str, _table: str, _columns: Sequence[str], /) -> None: ...

    def check_files(self, _action: str, _uris: Any, _table: Any = None, /) -> Sequence[str]:
        return ["s3://"]

    def check_writing(self, database: str, table: str, /) -> None: ...

    def is_visible(self, operation: str, item: Mapping[str, Any], /) -> bool:
        return True

    def reading(self, database: str, table: str, columns: Sequence[str], /) -> TableAccess | None:
        return TableAccess([AllowedRows(condition="month = 12", columns=None)])


def test_a_table_of_which_the_caller_may_read_a_part_is_refused(service: QueryService, cluster: Cluster) -> None:
    done = ask(service, "SELECT count(*) FROM flights", catalog_access=_Access())
    assert "tables of files that you may read in full" in str(done.reason)
    assert cluster.requests == []


def test_sparks_failure_is_the_statements(service: QueryService, cluster: Cluster) -> None:
    cluster.fails = StatementError("DIVISION_BY_ZERO", "Division by zero")
    done = ask(service, "SELECT count(*) AS n FROM flights")
    assert (done.state, done.reason) == ("FAILED", "DIVISION_BY_ZERO: Division by zero")


def test_a_stop_ends_what_spark_computes(service: QueryService, cluster: Cluster) -> None:
    cluster.waits = True
    cluster.fails = StatementError("GENERIC_INTERNAL_ERROR", "The query was stopped.")
    running = service.start(
        StatementRequest(sql="SELECT count(*) AS n FROM flights", database="flights_db", workgroup="big")
    )
    deadline = time.monotonic() + 30
    while not cluster.requests:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    service.stop(running)
    assert finished(service, running).state == "CANCELLED"


def test_a_server_without_spark_refuses_and_names_what_is_missing(
    lake: Lake, settings: QuerySettings, children: ChildPool
) -> None:
    without = made(lake, settings, children, None)
    with pytest.raises(InvalidRequest, match="started without Spark") as refused:
        without.start(StatementRequest(sql="SELECT 1", workgroup="big"))
    assert "penstock[server,spark]" in str(refused.value.remedy)
    without.close()

"""What became of a statement on an Iceberg table whose process, manifest or server was lost after its commit."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.query.execution.children import ChildPool
from penstock.query.results.sinks import LakeSink
from penstock.statements.model import Statement, StatementId, StatementState
from tests.unit.query.iceberg_world import World, world

INSERT = "INSERT INTO t VALUES (2, 'b')"


@pytest.fixture
def lake(tmp_path: Path, children: ChildPool) -> Iterator[World]:
    with world(tmp_path / "lake", children) as made:
        made.run("CREATE TABLE t (id int, name string) LOCATION 's3://lake/t/' TBLPROPERTIES ('table_type'='ICEBERG')")
        made.run("INSERT INTO t VALUES (1, 'a')")
        yield made


def journals(world: World) -> list[Path]:
    return list((world.root / "lake/results").rglob("*.journal"))


class _FailingSink(LakeSink):
    def put(self, uri: str, file: Path) -> None:
        if uri.endswith("-manifest.csv"):
            raise OSError("the disk is full")
        super().put(uri, file)


class _Changes:
    """The catalog's changes, and ``then`` after each."""

    def __init__(self, world: World, then: Callable[[], None]) -> None:
        self._operations = world.operations
        self._then = then

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        answer = self._operations.change(operation, request)
        self._then()
        return answer


def test_a_statement_is_succeeded_whose_manifest_cannot_be_stored(lake: World) -> None:
    lake.service._sink = _FailingSink(lake.service._lake)
    assert lake.ask(INSERT).state is StatementState.SUCCEEDED
    assert [row["id"] for row in lake.read("t")] == [1, 2]
    assert journals(lake) == []


def test_a_statement_is_succeeded_whose_process_dies_after_the_commit(lake: World) -> None:
    def kill() -> None:
        for child in psutil.Process().children():
            if "penstock.query.execution.child" in child.cmdline():
                child.kill()

    lake.service._changes = _Changes(lake, kill)
    assert lake.ask(INSERT).state is StatementState.SUCCEEDED
    assert [row["id"] for row in lake.read("t")] == [1, 2]
    assert journals(lake) == []


def test_a_statement_is_failed_whose_change_fails(lake: World) -> None:
    class Killing(_Changes):
        def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
            self._then()
            raise RuntimeError("the store is gone")

    lake.service._changes = Killing(lake, lambda: None)
    statement = lake.ask(INSERT)
    assert statement.state is StatementState.FAILED
    assert [row["id"] for row in lake.read("t")] == [1]


def _lost(lake: World, metadata: str) -> Statement:
    """Leave a running INSERT of a server that is gone, which was to make ``metadata`` the table's."""
    done = lake.run("SELECT 1")
    uri = "s3://lake/results/lost"
    pointer = {"pointer": {"database": "db", "table": "t", "metadata": metadata}}
    (lake.root / "lake/results/lost.journal").write_text(json.dumps(pointer))
    owner = f"{lake.service._ownership.name.split(':')[0]}:999999999:x"
    lost = replace(
        done,
        id=StatementId("lost"),
        substatement="INSERT",
        state=StatementState.RUNNING,
        owner=owner,
        completed=None,
        result_uri=uri,
    )
    return lake.service._store.add(lost)


@pytest.mark.parametrize(("commits_since", "state"), [(0, "SUCCEEDED"), (2, "SUCCEEDED"), (None, "FAILED")])
def test_a_lost_statement_is_what_the_table_says(lake: World, commits_since: int | None, state: str) -> None:
    metadata = lake.catalog.table("db", "t").parameters["metadata_location"]
    for _ in range(commits_since or 0):
        lake.run(INSERT)
    lost = _lost(lake, metadata if commits_since is not None else "s3://lake/t/metadata/00009-none.metadata.json")
    assert lake.service.recover() == 1
    assert lake.service.get(lost.id).state == state
    assert journals(lake) == []


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("DELETE FROM t WHERE id = 1", "DELETE"),
        ("UPDATE t SET name = 'z' WHERE id = 1", "UPDATE"),
        ("MERGE INTO t USING (VALUES (1, 'q')) AS s (id, name) ON t.id = s.id WHEN MATCHED THEN DELETE", "MERGE"),
    ],
)
def test_a_change_of_rows_is_explained_and_not_made(lake: World, sql: str, what: str) -> None:
    before = lake.catalog.table("db", "t").parameters["metadata_location"]
    lines = [str(row[0]) for row in lake.rows(f"EXPLAIN {sql}")]
    assert lines[0].startswith("Engine: DuckDB")
    assert lines[1] == f"{what} of the rows of:"
    assert any(line.startswith("db.t: DuckDB reads 1 of 1 Parquet files of Iceberg table db.t") for line in lines)
    assert lake.catalog.table("db", "t").parameters["metadata_location"] == before
    assert [row["name"] for row in lake.read("t")] == ["a"]
    assert "EXPLAIN ANALYZE of a statement that writes" in str(lake.ask(f"EXPLAIN ANALYZE {sql}").reason)


def test_a_change_of_another_kind_of_table_is_not_explained(lake: World) -> None:
    lake.run("CREATE EXTERNAL TABLE plain (id int) STORED AS PARQUET LOCATION 's3://lake/plain/'")
    assert "is for Iceberg tables" in str(lake.ask("EXPLAIN DELETE FROM plain").reason)

"""Engines that are kept from one statement to the next: for the same files alone, and with nothing of the earlier one."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.query.engine.pool import EnginePool
from penstock.query.execution.runner import execute
from penstock.query.settings import QuerySettings
from penstock.query.tables.port import SCHEMA
from penstock.query.task import RESULT, Task
from tests.unit.query.lake_of_flights import Lake


@pytest.fixture
def engines(tmp_path: Path) -> EnginePool:
    return EnginePool(tmp_path / "scratch")


def test_an_engine_is_kept_for_the_same_files_and_limits(
    engines: EnginePool, settings: QuerySettings, tmp_path: Path
) -> None:
    one, other = ([str(tmp_path / name)] for name in ("one", "other"))
    first = engines.session(settings, tmp_path, one)
    first.lock()
    engines.give_back(first, sound=True)
    engines.prepare()
    assert engines.session(settings, tmp_path, other) is not first
    assert engines.session(replace(settings, threads=2), tmp_path, one) is not first
    again = engines.session(settings, tmp_path, one)
    assert again is first
    # It is one statement's until that is done.
    assert engines.session(settings, tmp_path, one) is not first


def test_an_engine_is_not_kept_with_what_a_statement_left_or_after_its_failure(
    engines: EnginePool, settings: QuerySettings, tmp_path: Path
) -> None:
    for leaves, sound, kept in (
        (f"CREATE SCHEMA {SCHEMA}; CREATE VIEW {SCHEMA}.v AS SELECT 1", True, True),
        ("CREATE TEMP TABLE t AS SELECT 1", True, False),
        ("CREATE VIEW v AS SELECT 1", True, False),
        ("SELECT 1", False, False),
    ):
        engine = engines.session(settings, tmp_path, [])
        if not engine.locked:
            engine.lock()
        engine.connection.execute(leaves)
        engines.give_back(engine, sound=sound)
        engines.prepare()
        assert (engines.session(settings, tmp_path, []) is engine) == kept, leaves


def test_only_so_many_engines_are_kept(engines: EnginePool, settings: QuerySettings, tmp_path: Path) -> None:
    made = [engines.session(settings, tmp_path, [str(tmp_path / str(number))]) for number in range(3)]
    for engine in made:
        engine.lock()
        engines.give_back(engine, sound=True)
    engines.prepare()
    kept = [engines.session(settings, tmp_path, engine.paths) for engine in made]
    assert sum(one is other for one, other in zip(made, kept, strict=True)) == 2


def test_a_kept_engine_reads_a_file_that_was_written_anew(
    lake: Lake, settings: QuerySettings, tmp_path: Path, engines: EnginePool
) -> None:
    lake.table("numbers", {"n": "bigint"})
    path = lake.write("numbers/one.parquet", pa.table({"n": pa.array([1, 2, 3])}))
    folder = tmp_path / "task"
    folder.mkdir()
    task = Task(
        id="one", sql="SELECT sum(n), max(n), min(n), count(*) FROM numbers", parameters=(), database="flights_db",
        lake=lake.folder, settings=settings, folder=folder,
    )  # fmt: skip
    kept = []
    for values in ([1, 2, 3], [4, 5, 6], [7, 8, 9]):
        # In place, of the same size and in the same moment.
        pq.write_table(pa.table({"n": pa.array(values)}), path)
        execute(task, lake.catalog, engines, lambda _: None)
        figures = f'"{sum(values)}","{max(values)}","{min(values)}","3"'
        assert (folder / RESULT).read_text().splitlines()[1] == figures
        engines.prepare()
        kept += list(engines._kept.values())
    assert len(kept) == 3
    assert len(set(map(id, kept))) == 1

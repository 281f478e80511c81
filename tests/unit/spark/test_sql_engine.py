"""The process of Spark SQL as its owner sees it: started when it is needed, replaced when it ended, and stopped."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.settings.spark_sql import SparkSqlSettings
from penstock.spark.sql.engine import SparkSql
from penstock.sql.spark_query import SparkQuery

ROOT = Path(__file__).parents[3]


class Failed(Exception):
    """What the engine's caller makes of an error."""


def never() -> bool:
    return False


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SparkSql]]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    engines: list[SparkSql] = []

    def made(idle: float = 60.0) -> SparkSql:
        settings = SparkSqlSettings(
            master="local[1]", java_home="", jars=(), more_jars=(), log=str(tmp_path / "spark"), idle_seconds=idle
        )
        engine = SparkSql(
            settings,
            tmp_path,
            name="1",
            error=lambda code, message: Failed(f"{code}: {message}"),
            module="tests.unit.spark.sql_process",
            stop_seconds=0.2,
        )
        engines.append(engine)
        return engine

    yield made
    for spark_sql in engines:
        spark_sql.close()


def run(engine: SparkSql, sql: str, stop: Callable[[], bool] = never) -> Any:
    return int(engine.compute(SparkQuery(sql=sql, reads=[], types=[], limit=0), Path("rows"), stop).lines[0])


def test_a_process_is_kept_for_the_next_query(make: Callable[..., SparkSql]) -> None:
    engine = make()
    assert run(engine, "x") == run(engine, "y")
    with pytest.raises(Failed, match="DIVISION_BY_ZERO: wrong"):
        run(engine, "wrong")


def test_a_process_that_was_idle_has_a_successor(make: Callable[..., SparkSql]) -> None:
    engine = make(idle=0.05)
    first = run(engine, "x")
    deadline = time.monotonic() + 30
    while Path(f"/proc/{first}").exists() and "Z" not in Path(f"/proc/{first}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert run(engine, "y") != first


def test_a_process_that_dies_fails_its_query_alone(make: Callable[..., SparkSql]) -> None:
    engine = make()
    first = run(engine, "x")
    with pytest.raises(Failed, match=r"Spark's process ended \(exit status 3\). Its log is .*spark-1.log"):
        run(engine, "die")
    assert run(engine, "y") not in {first, os.getpid()}


def test_a_process_that_sends_a_pickle_is_replaced(make: Callable[..., SparkSql]) -> None:
    engine = make()
    with pytest.raises(Failed, match="Spark's process ended"):
        run(engine, "hostile")
    assert run(engine, "y")


def test_a_process_without_its_jvm_gets_no_other_query(make: Callable[..., SparkSql]) -> None:
    engine = make()
    first = run(engine, "x")
    with pytest.raises(Failed, match="ending"):
        run(engine, "ending")
    assert run(engine, "y") != first


def test_a_stopped_query_is_cancelled(make: Callable[..., SparkSql]) -> None:
    with pytest.raises(Failed, match="cancelled"):
        run(make(), "wait", lambda: True)


def test_a_process_that_does_not_stop_is_killed(make: Callable[..., SparkSql]) -> None:
    engine = make()
    with pytest.raises(Failed, match="The query was stopped"):
        run(engine, "hang", lambda: True)
    assert run(engine, "x")


def test_a_closed_engine_starts_nothing(make: Callable[..., SparkSql]) -> None:
    engine = make()
    engine.close()
    with pytest.raises(Failed, match="SERVER_RESTARTED"):
        run(engine, "x")

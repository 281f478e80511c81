"""Reuse of earlier results: its conditions, and how statistics report it."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from penstock.errors import AccessDenied
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.store.sql.statements import SqlStatementStore
from tests.unit.query.lake_of_flights import Ask, Lake

COUNT = "SELECT count(*) FROM airlines"


def result(service: QueryService, statement_id: str) -> list[list[str | None]]:
    return [list(row) for row in service.results(statement_id)[1].rows[1:]]


def test_a_result_is_reused_up_to_its_maximum_age(lake: Lake, service: QueryService, ask: Ask) -> None:
    first = ask(COUNT)
    lake.write("airlines/more.parquet", pa.table({"carrier": ["XX"], "name": ["more"]}))
    again = ask(COUNT, reuse_minutes=60)
    assert (again.state, again.statistics.reused, again.reuse_minutes) == ("SUCCEEDED", True, 60)
    assert again.statistics.scanned_bytes == 0
    assert again.columns == first.columns
    assert again.result_uri != first.result_uri
    assert result(service, again.id) == result(service, first.id)
    assert lake.folder.path(f"{again.result_uri}.metadata").is_file()
    fresh = ask(COUNT, reuse_minutes=0)
    assert not fresh.statistics.reused
    assert result(service, fresh.id) != result(service, first.id)
    # The newest computed result is used.
    assert result(service, ask(COUNT, reuse_minutes=60).id) == result(service, fresh.id)
    assert not ask(COUNT).statistics.reused


@pytest.mark.parametrize(
    "changes",
    [
        {"sql": "SELECT count(*)  FROM airlines"},
        {"database": "empty_db"},
        {"output_location": "s3://lake/elsewhere/"},
        {"principal": "somebody else"},
    ],
)
def test_another_statement_is_run(ask: Ask, changes: dict[str, str]) -> None:
    ask("SELECT count(*) FROM flights_db.airlines", reuse_minutes=60)
    assert not ask(**({"sql": "SELECT count(*) FROM flights_db.airlines", "reuse_minutes": 60} | changes)).statistics.reused


def test_other_parameters_are_another_statement(ask: Ask) -> None:
    sql = "SELECT count(*) FROM airlines WHERE carrier = ?"
    ask(sql, parameters=("'UA'",))
    assert not ask(sql, parameters=("'AA'",), reuse_minutes=60).statistics.reused
    assert ask(sql, parameters=("'UA'",), reuse_minutes=60).statistics.reused


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT now()",
        "SELECT current_timestamp",
        "SELECT current_date",
        "SELECT localtimestamp",
        "SELECT random()",
        "SELECT uuid()",
        "SELECT shuffle(ARRAY[1, 2])",
        "SELECT * FROM airlines TABLESAMPLE BERNOULLI (50)",
        "SELECT count(*) FROM airlines WHERE rand() < 0.5",
        "SHOW TABLES",
        "EXPLAIN SELECT 1",
    ],
)
def test_a_statement_that_is_not_repeatable_is_run(ask: Ask, sql: str) -> None:
    ask(sql)
    assert not ask(sql, reuse_minutes=60).statistics.reused


def test_a_result_that_is_gone_is_computed(lake: Lake, ask: Ask) -> None:
    lake.folder.path(ask(COUNT).result_uri).unlink()
    again = ask(COUNT, reuse_minutes=60)
    assert (again.state, again.statistics.reused) == ("SUCCEEDED", False)


def test_a_result_is_not_reused_if_the_caller_lost_the_right_to_read(ask: Ask) -> None:
    class Denied:
        def check(self, *_: object) -> None:
            raise AccessDenied("not you")

        def check_files(self, *_: object) -> list[str]:
            return ["s3://"]

    ask(COUNT)
    again = ask(COUNT, reuse_minutes=60, catalog_access=Denied())
    assert again.reason is not None
    assert again.reason.startswith("PERMISSION_DENIED: not you")


def test_a_store_that_fails_in_the_search_leaves_no_statement_and_no_queue_entry(
    service: QueryService, ask: Ask, settings: QuerySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ConnectionError("the store is unavailable")

    looks: Callable[..., object] = SqlStatementStore.latest
    monkeypatch.setattr(SqlStatementStore, "latest", broken)
    for _ in range(settings.workers + settings.queue + 1):
        with pytest.raises(ConnectionError):
            service.start(StatementRequest(sql=COUNT, database="flights_db", reuse_minutes=60))
    assert not service.page().ids
    monkeypatch.setattr(SqlStatementStore, "latest", looks)
    assert ask(COUNT, reuse_minutes=60).state == "SUCCEEDED"

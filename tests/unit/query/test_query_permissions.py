"""A statement reads only what its caller may read of the catalog, and is refused before it reads anything else."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock.errors import AccessDenied
from penstock.lakeformation.decisions import Rows as AllowedRows
from penstock.lakeformation.decisions import TableAccess
from tests.unit.query.lake_of_flights import Ask, Rows

DATABASE = ("GetDatabase", {"Name": "flights_db"})
AIRLINES = ("GetTable", {"DatabaseName": "flights_db", "Name": "airlines"})
FLIGHTS = ("GetTable", {"DatabaseName": "flights_db", "Name": "flights"})
PARTITIONS = ("GetPartitions", {"DatabaseName": "flights_db", "TableName": "flights"})


class RecordedAccess:
    """Allows all operations but those in ``refused``, and records the calls."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.checked: list[tuple[str, dict[str, Any]]] = []
        self.allowed: TableAccess | None = None

    def check(self, operation: str, request: Mapping[str, Any], /) -> None:
        if (operation, dict(request)) not in self.checked:
            self.checked.append((operation, dict(request)))
        if operation in self.refused:
            raise AccessDenied(f"User: ana is not authorized to perform: glue:{operation}")

    def hides_columns(self) -> bool:
        return False

    def visible_columns(self, _database: str, _table: str, _columns: Sequence[str], /) -> None: ...

    def check_files(self, _action: str, _uris: Any, _table: Any = None, /) -> Sequence[str]:
        return ["s3://"]

    def is_visible(self, operation: str, item: Mapping[str, Any], /) -> bool:
        return item["Name"] not in self.refused

    def created(self, _database: str, _table: str | None, /) -> None: ...

    def check_writing(self, _database: str, _table: str, _permissions: Sequence[str], /) -> None: ...

    def reading(self, _database: str, _table: str, _columns: Sequence[str], /) -> TableAccess | None:
        return self.allowed


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", []),
        ("SELECT count(*) FROM airlines", [DATABASE, AIRLINES]),
        ('SELECT 1 FROM "FLIGHTS_DB"."AIRLINES"', [DATABASE, AIRLINES]),
        ("SELECT 1 WHERE EXISTS (SELECT 1 FROM flights WHERE month = 1)", [DATABASE, FLIGHTS, PARTITIONS]),
        ("WITH a AS (SELECT * FROM airlines) SELECT 1 FROM a JOIN flights USING (carrier)", None),
        ("EXPLAIN SELECT * FROM airlines", [DATABASE, AIRLINES]),
        ("DESCRIBE airlines", [DATABASE, AIRLINES]),
        ("SHOW CREATE TABLE airlines", [DATABASE, AIRLINES]),
        ("SHOW PARTITIONS flights", [DATABASE, FLIGHTS, PARTITIONS]),
        ("SHOW TABLES", [("GetTables", {"DatabaseName": "flights_db"})]),
        ("SHOW VIEWS IN flights_db", [("GetTables", {"DatabaseName": "flights_db"})]),
        ("SHOW DATABASES", [("GetDatabases", {})]),
    ],
)
def test_each_statement_is_authorized_for_what_it_reads(rows: Rows, ask: Ask, sql: str, expected: Any) -> None:
    access = RecordedAccess()
    rows(sql, catalog_access=access)
    both = [DATABASE, AIRLINES, FLIGHTS, PARTITIONS]
    assert sorted(map(str, access.checked)) == sorted(map(str, both if expected is None else expected))
    for operation in {name for name, _ in access.checked}:
        failed = ask(sql, catalog_access=RecordedAccess(operation))
        assert (failed.state, failed.statistics.scanned_bytes, failed.columns) == ("FAILED", 0, ())
        assert failed.reason == f"PERMISSION_DENIED: User: ana is not authorized to perform: glue:{operation}"


def test_a_denied_caller_does_not_learn_whether_a_database_exists(ask: Ask) -> None:
    messages = {
        ask(f"SELECT 1 FROM {name}.t", catalog_access=RecordedAccess("GetDatabase")).reason
        for name in ("empty_db", "nowhere")
    }
    assert messages == {"PERMISSION_DENIED: User: ana is not authorized to perform: glue:GetDatabase"}
    assert "Schema 'nowhere' does not exist" in str(ask("SELECT 1 FROM nowhere.t", catalog_access=RecordedAccess()).reason)
    assert "'awsdatacatalog.empty_db.t' does not exist" in str(
        ask("SELECT 1 FROM empty_db.t", catalog_access=RecordedAccess()).reason
    )


def test_lists_omit_what_the_caller_may_not_see(rows: Rows) -> None:
    assert ["airlines"] in rows("SHOW TABLES", catalog_access=RecordedAccess())
    shown = rows("SHOW TABLES", catalog_access=RecordedAccess("airlines"))
    assert shown
    assert ["airlines"] not in shown
    assert ["flights_db"] not in rows("SHOW DATABASES", catalog_access=RecordedAccess("flights_db"))


def _access(*rows: AllowedRows) -> RecordedAccess:
    access = RecordedAccess()
    access.allowed = TableAccess(rows)
    return access


def test_columns_that_may_not_be_read_are_not_there(rows: Rows, ask: Ask) -> None:
    only = _access(AllowedRows(condition=None, columns=frozenset({"name"})))
    everything = rows("SELECT name FROM airlines ORDER BY 1")
    assert rows("SELECT * FROM airlines ORDER BY 1", catalog_access=only) == everything
    for sql in ("SELECT carrier FROM airlines", "SELECT name FROM airlines WHERE carrier = 'AA'"):
        failed = ask(sql, catalog_access=only)
        assert failed.state == "FAILED"
        assert "carrier" in str(failed.reason)


def test_rows_are_those_of_every_filter_that_has_the_columns_of_the_query(rows: Rows) -> None:
    access = _access(
        AllowedRows(condition="carrier = 'AA'", columns=None),
        AllowedRows(condition="carrier IN ('AA', 'UA')", columns=frozenset({"carrier"})),
    )
    assert rows("SELECT carrier FROM airlines ORDER BY 1", catalog_access=access) == [["AA"], ["UA"]]
    assert len(rows("SELECT carrier, name FROM airlines", catalog_access=access)) == 1
    assert rows("SELECT count(*) FROM airlines WHERE name <> 'x' OR 1 = 1", catalog_access=access) == [["1"]]
    month = _access(AllowedRows(condition="month = 2", columns=None))
    assert rows("SELECT DISTINCT month FROM flights", catalog_access=month) == [["2"]]


def test_reading_without_permission_and_filters_that_are_not_conditions_are_refused(ask: Ask) -> None:
    for access, words in [
        (_access(), "Insufficient Lake Formation permission"),
        (_access(AllowedRows(condition="carrier = (SELECT 'AA')", columns=None)), "not a condition"),
        (_access(AllowedRows(condition="carrier = ", columns=None)), "cannot be evaluated"),
        (_access(AllowedRows(condition="nothing = 1", columns=None)), "nothing"),
    ]:
        failed = ask("SELECT count(*) FROM airlines", catalog_access=access)
        assert failed.state == "FAILED"
        assert words in str(failed.reason), failed.reason


def test_what_partitions_there_are_is_refused_to_those_who_may_read_some_rows(ask: Ask) -> None:
    access = _access(AllowedRows(condition="month = 2", columns=None))
    failed = ask('SELECT * FROM "flights$partitions"', catalog_access=access)
    assert "you may not read the metadata of 'flights_db.flights'" in str(failed.reason)


def test_row_filters_use_functions_as_queries_do(rows: Rows) -> None:
    access = _access(AllowedRows(condition="regexp_like(carrier, '^U') AND substr(carrier, -1) = 'A'", columns=None))
    assert rows("SELECT carrier FROM airlines", catalog_access=access) == [["UA"]]


def test_filtered_results_are_not_reused_and_callers_with_filters_get_no_unfiltered_ones(ask: Ask) -> None:
    sql = "SELECT carrier FROM airlines"
    assert not ask(sql, reuse_minutes=10).statistics.reused
    first = _access(AllowedRows(condition="carrier = 'AA'", columns=None))
    second = _access(AllowedRows(condition="carrier = 'UA'", columns=None))
    for access in (first, second, first):
        statement = ask(sql, reuse_minutes=10, catalog_access=access)
        assert (statement.statistics.reused, statement.statistics.output_rows) == (False, 1)

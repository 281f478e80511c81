"""information_schema: what the caller may see of the catalog, as tables."""

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.errors import AccessDenied
from tests.unit.query.ddl.test_databases_and_tables import CARRIERS, FLIGHTS, Access
from tests.unit.query.lake_of_flights import Ask, Rows


@pytest.fixture(autouse=True)
def tables(done: Ask) -> None:
    done("CREATE DATABASE other")
    done(CARRIERS)
    done(FLIGHTS)
    done("CREATE VIEW names AS SELECT upper(name) AS name, 1 AS one FROM carriers")
    done(
        "CREATE EXTERNAL TABLE other.deep (a array<struct<x:int,y:varchar(3)>> COMMENT 'in', b binary) LOCATION 's3://lake/d/'"
    )


class Recorded(Access):
    """Records the databases whose tables were listed."""

    def __init__(self, *refused: str, hidden: str = "") -> None:
        super().__init__(*refused, hidden=hidden)
        self.listed: list[str] = []

    def check(self, operation: str, request: Mapping[str, Any], /) -> None:
        super().check(operation, request)
        if operation == "GetTables":
            self.listed.append(request["DatabaseName"])


def test_schemata_and_tables(rows: Rows) -> None:
    assert rows("SELECT * FROM information_schema.schemata ORDER BY 2") == [
        ["awsdatacatalog", "db"], ["awsdatacatalog", "information_schema"], ["awsdatacatalog", "other"],
    ]  # fmt: skip
    assert rows("SELECT * FROM awsdatacatalog.information_schema.tables WHERE table_schema = 'db' ORDER BY table_name") == [
        ["awsdatacatalog", "db", "carriers", "BASE TABLE"],
        ["awsdatacatalog", "db", "flights", "BASE TABLE"],
        ["awsdatacatalog", "db", "names", "VIEW"],
    ]
    assert rows("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'information_schema'") == [["4"]]


def test_columns_have_trinos_types(rows: Rows) -> None:
    assert rows("SELECT * FROM information_schema.columns WHERE table_schema = 'other' ORDER BY ordinal_position") == [
        ["awsdatacatalog", "other", "deep", "a", "1", None, "YES", "array(row(x integer, y varchar(3)))"],
        ["awsdatacatalog", "other", "deep", "b", "2", None, "YES", "varbinary"],
    ]
    assert rows(
        "SELECT column_name, data_type, comment, extra_info FROM information_schema.columns "
        "WHERE table_schema IN ('db', 'other') AND table_name IN ('flights', 'deep') ORDER BY table_name, ordinal_position"
    ) == [
        ["a", "array(row(x integer, y varchar(3)))", "in", None],
        ["b", "varbinary", None, None],
        ["carrier", "varchar", None, None],
        ["flight", "integer", None, None],
        ["year", "integer", None, "partition key"],
        ["month", "integer", None, "partition key"],
    ]


def test_views_have_their_text_and_their_own_types(rows: Rows) -> None:
    assert rows("SELECT table_name, view_definition FROM information_schema.views") == [
        ["names", "SELECT upper(name) AS name, 1 AS one FROM carriers"]
    ]
    assert rows("SELECT data_type FROM information_schema.columns WHERE table_name = 'names' ORDER BY 1") == [
        ["integer"], ["varchar"],
    ]  # fmt: skip


def test_only_what_the_query_names_is_listed_and_only_what_the_caller_may_see_is_shown(done: Ask, rows: Rows) -> None:
    access = Recorded(hidden="carriers")
    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'db' ORDER BY 1"
    assert rows(sql, catalog_access=access) == [["flights"], ["names"]]
    assert access.listed == ["db"]
    access = Recorded(hidden="other")
    assert rows("SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'information_schema'",
                catalog_access=access) == [["db"]]  # fmt: skip
    assert access.listed == []
    # What is created later is seen, also if results may be reused.
    assert not done(sql, reuse_minutes=60).statistics.reused
    assert not done(sql, reuse_minutes=60).statistics.reused


def test_a_database_whose_tables_the_caller_may_not_list_has_none(rows: Rows) -> None:
    class Narrow(Access):
        def check(self, operation: str, request: Mapping[str, Any], /) -> None:
            if operation == "GetTables" and request["DatabaseName"] == "db":
                raise AccessDenied("no")

    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema <> 'information_schema'"
    assert rows(sql, catalog_access=Narrow()) == [["deep"]]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SELECT * FROM information_schema.nothing",
            "TABLE_NOT_FOUND: line 1:15: Table 'awsdatacatalog.information_schema.nothing'",
        ),
        ("SELECT * FROM information_schema.roles", "NOT_SUPPORTED: line 1:15: information_schema.roles is not supported"),
    ],
)
def test_refusals(refused: Ask, sql: str, reason: str) -> None:
    actual = refused(sql).reason
    assert actual is not None
    assert actual.startswith(reason)

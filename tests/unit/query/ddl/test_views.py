"""Views: how they are stored, and how queries read those that we, AWS, awswrangler and dbt made."""

import base64
import json
from collections.abc import Sequence

import pytest

from penstock.catalog.model import Column, StorageDescriptor, TableInput
from penstock.catalog.service import CatalogService
from penstock.lakeformation.decisions import Rows as AllowedRows
from penstock.lakeformation.decisions import TableAccess
from tests.unit.query.ddl.test_databases_and_tables import CARRIERS, FLIGHTS, Access
from tests.unit.query.lake_of_flights import Ask, Rows


@pytest.fixture(autouse=True)
def tables(done: Ask) -> None:
    done(CARRIERS)
    done(FLIGHTS)
    done("MSCK REPAIR TABLE flights")


def store(catalog: CatalogService, name: str, text: str, columns: Sequence[tuple[str, str]] = (("x", "int"),)) -> None:
    """Put a view into the catalog as other clients do."""
    storage = StorageDescriptor(columns=[Column(name=item, type=type_) for item, type_ in columns])
    catalog.create_table("db", TableInput(name=name, storage=storage, table_type="VIRTUAL_VIEW", view_original_text=text))


def encoded(sql: str, columns: Sequence[tuple[str, str]], **others: object) -> str:
    document = {
        "originalSql": sql,
        "catalog": "awsdatacatalog",
        "schema": "db",
        "columns": [{"name": name, "type": type_} for name, type_ in columns],
        **others,
    }
    return f"/* Presto View: {base64.b64encode(json.dumps(document).encode()).decode()} */"


def test_a_view_is_stored_as_athena_stores_it(catalog: CatalogService, done: Ask) -> None:
    created = done(
        "CREATE VIEW busy AS SELECT carrier, count(*) AS n, CAST(avg(flight) AS decimal(10,2)) AS mean, "
        "array_agg(flight) AS all_of_them, CAST(ROW(1, 'x') AS ROW(a integer, b varchar)) AS r, "
        "TIMESTAMP '2013-01-01 00:00:00' AS at, true AS yes FROM flights GROUP BY carrier"
    )
    assert (created.type, created.substatement, created.columns) == ("DDL", "CREATE_VIEW", ())
    view = catalog.table("db", "busy")
    assert (view.table_type, view.view_expanded_text) == ("VIRTUAL_VIEW", "/* Presto View */")
    assert view.parameters == {"presto_view": "true", "comment": "Presto View"}
    assert [(column.name, column.type) for column in view.storage.columns] == [
        ("carrier", "string"),
        ("n", "bigint"),
        ("mean", "decimal(10,2)"),
        ("all_of_them", "array<int>"),
        ("r", "struct<a:int,b:string>"),
        ("at", "timestamp"),
        ("yes", "boolean"),
    ]
    text = view.view_original_text
    assert text is not None
    assert text.startswith("/* Presto View: ")
    document = json.loads(base64.b64decode(text.removeprefix("/* Presto View: ").removesuffix(" */")))
    assert document["originalSql"].startswith("SELECT carrier, count(*) AS n")
    assert (document["catalog"], document["schema"]) == ("awsdatacatalog", "db")
    assert [column["type"] for column in document["columns"]] == [
        *("varchar", "bigint", "decimal(10,2)", "array(integer)", "row(a integer, b varchar)", "timestamp(0)", "boolean"),
    ]


def test_views_are_read_in_their_own_database_and_inside_each_other(done: Ask, rows: Rows) -> None:
    done("CREATE VIEW ua AS SELECT flight, year, month FROM flights WHERE carrier = 'UA'")
    done("CREATE OR REPLACE VIEW last_ua AS SELECT flight AS number, month AS m FROM ua WHERE month > 10")
    assert rows("SELECT count(*), min(number) FROM db.last_ua", database="default") == [["10", "1101"]]
    assert rows(
        "SELECT v.number FROM db.last_ua v JOIN db.ua u ON u.flight = v.number WHERE v.m = 12 ORDER BY 1 LIMIT 1"
    ) == [["1201"]]
    assert rows("SELECT * FROM db.last_ua ORDER BY 1 LIMIT 1") == [["1101", "11"]]
    done("CREATE OR REPLACE VIEW last_ua AS SELECT 1 AS one")
    assert rows("SELECT * FROM db.last_ua") == [["1"]]


def test_conditions_on_a_view_prune_the_partitions_of_its_table(done: Ask) -> None:
    done(
        "CREATE VIEW named AS SELECT f.flight, f.month AS m, c.name FROM flights f JOIN carriers c ON f.carrier = c.carrier"
    )
    pruned = done("SELECT count(*) FROM named WHERE m = 12 AND name IS NOT NULL").statistics
    assert (pruned.partitions_scanned, pruned.partitions_total) == (1, 1)
    done("CREATE VIEW per_month AS SELECT month, count(*) AS n FROM flights GROUP BY month")
    whole = done("SELECT n FROM per_month WHERE month = 12").statistics
    assert (whole.partitions_scanned, whole.partitions_total) == (12, 12)
    outer = done("SELECT count(*) FROM carriers c LEFT JOIN named v ON c.name = v.name WHERE v.m IS NULL").statistics
    assert outer.partitions_scanned == 12


@pytest.mark.parametrize(
    ("expression", "types"),
    [
        ("CAST(1 AS tinyint)", ("tinyint", "tinyint")),
        ("CAST(1 AS smallint)", ("smallint", "smallint")),
        ("CAST(1 AS real)", ("real", "float")),
        ("1e0", ("double", "double")),
        ("1.50", ("decimal(3,2)", "decimal(3,2)")),
        ("sum(1)", ("bigint", "bigint")),
        ("CAST('ab' AS varchar(5))", ("varchar(5)", "varchar(5)")),
        ("X'00'", ("varbinary", "binary")),
        ("DATE '2013-01-01'", ("date", "date")),
        ("TIMESTAMP '2013-01-01 00:00:00.000'", ("timestamp(3)", "timestamp")),
        ("now()", ("timestamp(3) with time zone", "string")),
        ("JSON '[1]'", ("json", "string")),
        ("MAP(ARRAY['a'], ARRAY[ARRAY[1]])", ("map(varchar(1), array(integer))", "map<varchar(1),array<int>>")),
        ("INTERVAL '1' DAY", ("interval day to second", "string")),
        ("uuid()", ("uuid", "string")),
    ],
)
def test_a_column_of_any_type_is_stored_and_read(
    catalog: CatalogService, done: Ask, rows: Rows, expression: str, types: tuple[str, str]
) -> None:
    done(f"CREATE VIEW typed AS SELECT {expression} AS x")
    text = catalog.table("db", "typed").view_original_text or ""
    document = json.loads(base64.b64decode(text.removeprefix("/* Presto View: ").removesuffix(" */")))
    assert (document["columns"][0]["type"], catalog.table("db", "typed").storage.columns[0].type) == types
    assert len(rows("SELECT x FROM db.typed")) == 1


def test_views_of_other_clients_are_read(catalog: CatalogService, rows: Rows) -> None:
    sql = "SELECT\n  carrier code\n, CAST(flight AS bigint) x\nFROM\n  flights\n"
    declared = [("code", "varchar"), ("x", "bigint")]
    store(catalog, "aws", encoded(sql, declared, owner="ana", runAsInvoker=False, properties={}))
    assert rows("SELECT code, x FROM db.aws WHERE x = 101") == [["UA", "101"]]
    # A wider type than the query's is what the view has: the table's column was widened or narrowed since.
    store(catalog, "wider", encoded("SELECT flight x FROM flights WHERE flight = 101", [("x", "bigint")]))
    assert rows("SELECT x + 9000000000 FROM db.wider") == [["9000000101"]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            encoded("SELECT carrier x FROM flights", [("x", "bigint")]),
            "VIEW_IS_STALE: line 1:15: View 'awsdatacatalog.db.v' is stale or in invalid state: column [x] of type varchar "
            "projected from query view at position 0 cannot be coerced to column [x] of type bigint stored in",
        ),
        (
            encoded("SELECT 1 x, 2 y", [("x", "integer")]),
            "VIEW_IS_STALE: line 1:15: View 'awsdatacatalog.db.v' is stale or in invalid state: it has 1 columns, and its",
        ),
        (
            encoded("SELECT x FROM gone", [("x", "integer")]),
            "INVALID_VIEW: line 1:15: Failed analyzing stored view 'awsdatacatalog.db.v': line 1:15: Table "
            "'awsdatacatalog.db.gone' does not exist",
        ),
        (
            encoded("SELECT gone AS x FROM flights", [("x", "integer")]),
            "INVALID_VIEW: line 1:15: Failed analyzing stored view 'awsdatacatalog.db.v': ",
        ),
        (
            encoded("SELECT no_such(flight) AS x FROM flights", [("x", "integer")]),
            "INVALID_VIEW: line 1:15: Failed analyzing stored view 'awsdatacatalog.db.v': line 1:8: Function 'no_such'",
        ),
        (encoded("DROP TABLE flights", [("x", "integer")]), "INVALID_VIEW: line 1:15: Failed analyzing stored view"),
        (
            encoded("SELECT x FROM v", [("x", "integer")]),
            "INVALID_VIEW: View 'awsdatacatalog.db.v' cannot be read: it reads",
        ),
        (
            "/* Presto View: bm90IGpzb24= */",
            "INVALID_VIEW: Failed analyzing stored view 'awsdatacatalog.db.v': its definition",
        ),
        ("SELECT 1", "NOT_SUPPORTED: 'db.v' is a view of another engine's SQL."),
        (encoded("SELECT 1 x", [("x", "integer")], catalog="other"), "CATALOG_NOT_FOUND: Catalog 'other'"),
    ],
)
def test_a_view_that_does_not_fit_says_so(catalog: CatalogService, refused: Ask, text: str, reason: str) -> None:
    store(catalog, "v", text)
    actual = refused("SELECT * FROM v").reason
    assert actual is not None
    assert actual.startswith(reason)


def test_a_view_inside_a_view_that_does_not_fit_is_named(catalog: CatalogService, refused: Ask) -> None:
    store(catalog, "inner_one", encoded("SELECT carrier x FROM flights", [("x", "bigint")]))
    store(catalog, "outer_one", encoded("SELECT\n x FROM inner_one", [("x", "bigint")]))
    reason = refused("SELECT * FROM outer_one").reason
    assert reason is not None
    assert reason.startswith(
        "INVALID_VIEW: line 1:15: Failed analyzing stored view 'awsdatacatalog.db.outer_one': line 2:9: View "
        "'awsdatacatalog.db.inner_one' is stale"
    )


def test_a_view_of_all_columns_is_stale_when_the_table_has_more(done: Ask, refused: Ask) -> None:
    done("CREATE VIEW everything AS SELECT * FROM carriers")
    done("SELECT * FROM everything")
    done("ALTER TABLE carriers ADD COLUMNS (founded int)")
    reason = refused("SELECT * FROM everything").reason
    assert reason is not None
    assert "stale or in invalid state: it has 2 columns, and its query 3. Make it again" in reason


def test_names_of_three_parts(done: Ask, rows: Rows) -> None:
    done('CREATE OR REPLACE VIEW "awsdatacatalog"."db"."v" AS SELECT 1 AS x', database=None)
    assert rows('SELECT "v"."x" FROM "awsdatacatalog"."db"."v"', database=None) == [["1"]]


def test_views_are_bounded_in_depth(catalog: CatalogService, refused: Ask, rows: Rows) -> None:
    store(catalog, "v0", encoded("SELECT 1 x", [("x", "integer")]))
    for number in range(1, 21):
        store(catalog, f"v{number}", encoded(f"SELECT x FROM v{number - 1}", [("x", "integer")]))
    assert rows("SELECT x FROM db.v19") == [["1"]]
    reason = refused("SELECT x FROM db.v20").reason
    assert reason is not None
    assert "more than 20 views are inside each other" in reason


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE VIEW v AS SELECT 1 AS x", "ALREADY_EXISTS: View already exists: 'awsdatacatalog.db.v'"),
        (
            "CREATE OR REPLACE VIEW carriers AS SELECT 1 AS x",
            "ALREADY_EXISTS: Table already exists: 'awsdatacatalog.db.carriers'",
        ),
        ("CREATE VIEW w AS SELECT 1", "COLUMN_NAME_NOT_SPECIFIED: Column name not specified at position 1"),
        ("CREATE VIEW w AS SELECT NULL AS x", "COLUMN_TYPE_UNKNOWN: Column type is unknown: x"),
        ("CREATE VIEW w AS SELECT 1 AS x, 2 AS X", "DUPLICATE_COLUMN_NAME: Column name 'X' specified more than once"),
        ("CREATE VIEW w AS SELECT nothing FROM flights", "COLUMN_NOT_FOUND: line 1:25: Column 'nothing' cannot be resolved"),
        ("DROP VIEW gone", "TABLE_NOT_FOUND: View 'awsdatacatalog.db.gone' does not exist"),
        ("DROP VIEW carriers", "TABLE_NOT_FOUND: View 'awsdatacatalog.db.carriers' does not exist, but a table"),
        ("DROP TABLE v", "FAILED: SemanticException Cannot drop a view with DROP TABLE"),
        ("ALTER TABLE v ADD COLUMNS (a int)", "FAILED: SemanticException db.v is a view"),
        ("MSCK REPAIR TABLE v", "FAILED: SemanticException db.v is a view"),
    ],
)
def test_refusals(done: Ask, refused: Ask, catalog: CatalogService, sql: str, reason: str) -> None:
    done("CREATE VIEW v AS SELECT 1 AS x")
    actual = refused(sql).reason
    assert actual is not None
    assert actual.startswith(reason)
    assert sorted(table.name for table in catalog.tables("db")) == ["carriers", "flights", "v"]


def test_views_are_dropped_and_read_with_the_callers_rights(done: Ask, refused: Ask, catalog: CatalogService) -> None:
    done("CREATE VIEW v AS SELECT name FROM carriers")
    denied = refused("SELECT * FROM v", catalog_access=Access("GetTable carriers"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:GetTable"
    done("DROP VIEW IF EXISTS v")
    done("DROP VIEW IF EXISTS v")
    assert "v" not in [table.name for table in catalog.tables("db")]


class Restricted(Access):
    """Lets the caller read only rows of month 12 of ``flights``, and no column ``flight``."""

    def created(self, _database: str, _table: str | None, /) -> None: ...

    def check_writing(self, _database: str, _table: str, _permissions: Sequence[str], /) -> None: ...

    def reading(self, _database: str, table: str, _columns: Sequence[str], /) -> TableAccess | None:
        columns = frozenset({"carrier", "year", "month"})
        return TableAccess([AllowedRows(condition="month = 12", columns=columns)]) if table == "flights" else None


def test_rows_and_columns_that_may_not_be_read_are_not_in_a_view(done: Ask, refused: Ask, rows: Rows) -> None:
    done("CREATE VIEW months AS SELECT carrier, month FROM flights")
    done("CREATE VIEW all_flights AS SELECT flight FROM flights")
    assert rows("SELECT DISTINCT month FROM db.months", catalog_access=Restricted()) == [["12"]]
    assert "flight" in str(refused("SELECT count(flight) FROM all_flights", catalog_access=Restricted()).reason)


def test_results_of_views_that_change_are_not_reused(done: Ask) -> None:
    done("CREATE VIEW r AS SELECT random() AS x")
    done("SELECT x FROM r", reuse_minutes=60)
    assert not done("SELECT x FROM r", reuse_minutes=60).statistics.reused
    done("CREATE VIEW c AS SELECT count(*) AS x FROM carriers")
    done("SELECT x FROM c", reuse_minutes=60)
    assert done("SELECT x FROM c", reuse_minutes=60).statistics.reused

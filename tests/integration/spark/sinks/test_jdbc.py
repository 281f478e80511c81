"""The JDBC sink beyond the suite of all sinks: types, keys, existing tables, changes of columns, and the page's table."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StructType

from penstock.client.connections import GlueConnection
from penstock.client.databases.postgresql import connected
from penstock.errors import DataProblem, InvalidInput
from penstock.pipelines.sinks.jdbc import JdbcSink
from penstock.pipelines.sinks.settings import WriteMode
from penstock.spark.sinks.jdbc.writer import JdbcWriter
from penstock.spark.sinks.port import SinkBatch
from penstock.spark.tables.changes import AddColumn, RenameColumn, WidenType, changes
from tests.integration.spark.sinks.database import DatabaseTarget
from tests.integration.spark.sinks.targets import QUERY, batch, numbered

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PAGE = Path(__file__).parents[4] / "docs" / "lake" / "types.md"

NASTY = "tab\tline\nreturn\rback\\slash \\N '' \" {} é 😀 \\u0041"
# Type, a value, and what PostgreSQL's driver returns for it.
VALUES: tuple[tuple[str, Any, Any], ...] = (
    ("boolean", True, True),
    ("tinyint", -128, -128),
    ("smallint", 32767, 32767),
    ("int", -(2**31), -(2**31)),
    ("bigint", 2**63 - 1, 2**63 - 1),
    ("float", 1.5, 1.5),
    ("double", -1.7976931348623157e308, -1.7976931348623157e308),
    (
        "decimal(38,18)",
        Decimal("-12345678901234567890.123456789012345678"),
        Decimal("-12345678901234567890.123456789012345678"),
    ),
    ("string", NASTY, NASTY),
    ("string", "", ""),
    ("binary", bytearray(range(256)), bytes(range(256))),
    ("date", date(1600, 2, 29), date(1600, 2, 29)),
    ("timestamp", datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)),
    ("timestamp_ntz", datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("array<string>", [NASTY, None], [NASTY, None]),
    ("map<string,double>", {"a": 1.25, "b": None}, {"a": 1.25, "b": None}),
    (
        "struct<at:timestamp,day:date,n:struct<x:decimal(20,2)>,none:int>",
        (datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), date(2026, 1, 2), (Decimal("1.50"),), None),
        {"at": "2026-01-02T03:04:05.678901Z", "day": "2026-01-02", "n": {"x": 1.5}, "none": None},
    ),
)


def checked(target: DatabaseTarget, mode: WriteMode = "append", **more: Any) -> JdbcWriter:
    """A writer as the runner uses it."""
    writer = target.writer(mode, **more)
    writer.check()
    return writer


def of(rows: DataFrame, number: int = 0) -> SinkBatch:
    """A batch of a DataFrame."""
    count = rows.count()
    return SinkBatch(
        pipeline="shop", sink="sink", query=QUERY, number=number, end="{}", rows=rows, columns=rows.schema, count=count
    )


@pytest.mark.parametrize("dialect", ["postgresql", "redshift"])
def test_values_of_every_type_come_back(spark_utc: SparkSession, request: pytest.FixtureRequest, dialect: str) -> None:
    target: DatabaseTarget = request.getfixturevalue(f"{dialect}_target")
    if dialect == "redshift":  # PostgreSQL has no varbyte: the table is there already, with its own types
        as_postgresql(target)
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(VALUES))
    rows = [tuple(value for _, value, _ in VALUES), tuple(None for _ in VALUES)]
    writer = checked(target, table="types")
    assert writer.publish(of(spark_utc.createDataFrame(rows, columns))).rows == 2
    assert target.run("SELECT * FROM types ORDER BY c0") == [[back for _, _, back in VALUES], [None] * len(VALUES)]
    struct_type = writer.table()
    assert struct_type is not None
    kinds = [spark_utc.createDataFrame([], columns).schema]
    assert changes(struct_type, kinds[0], {}) == []


def as_postgresql(target: DatabaseTarget) -> None:
    kinds = {"binary": "bytea", "tinyint": "smallint", "double": "double precision", "float": "real", "string": "text"}
    kinds |= {"timestamp": "timestamptz", "timestamp_ntz": "timestamp"}
    columns = [
        f"c{number} {'jsonb' if '<' in kind else kinds.get(kind, kind)}" for number, (kind, _, _) in enumerate(VALUES)
    ]
    target.run(f"CREATE TABLE types ({', '.join(columns)})")


def test_numbers_that_are_none_and_far_years(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    rows = spark_utc.sql(
        "SELECT double('NaN') a, double('Infinity') b, float('-Infinity') c, timestamp'+12026-01-02 03:04:05' d, "
        "date'+12026-01-02' e, named_struct('x', double('NaN')) f"
    )
    checked(postgresql_target).publish(of(rows))
    assert postgresql_target.run("SELECT a::text, b::text, c::text, d::text, e::text, f FROM t") == [
        ["NaN", "Infinity", "-Infinity", "12026-01-02 03:04:05+00", "12026-01-02", {"x": "NaN"}]
    ]


def test_nul_in_a_text_stops_the_stream_or_is_removed(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    rows = spark_utc.createDataFrame([("a\0b", ["\0\0c\\u0000"])], "name string, nested array<string>")
    for only in ("name", "nested"):
        with pytest.raises(DataProblem, match=r"U\+0000.*nul_characters: remove"):
            checked(postgresql_target, table=only).publish(of(rows.select(only)))
        assert postgresql_target.run(f"SELECT to_regclass('{only}')") == [[None]], "nothing was committed"
    checked(postgresql_target, nul_characters="remove").publish(of(rows))
    assert postgresql_target.run("SELECT * FROM t") == [["ab", ["c\\u0000"]]]


def test_a_refused_row_is_named_and_leaves_nothing(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    postgresql_target.run("CREATE TABLE t (id bigint PRIMARY KEY, name varchar(3))")
    with pytest.raises(DataProblem, match=r"refuses a row: value too long .*COPY t, line 1, column name"):
        checked(postgresql_target).publish(batch(spark_utc, [(1, "long", 0, 0)]))
    with pytest.raises(DataProblem, match=r"duplicate key .*\(id\)=\(1\) already exists"):
        checked(postgresql_target).publish(batch(spark_utc, [(1, "a", 0, 0), (1, "b", 0, 1)]))
    assert postgresql_target.run("SELECT count(*) FROM penstock_batches") == [[0]]
    assert postgresql_target.rows() == []


def test_existing_tables_keep_their_names_types_and_defaults(
    spark_utc: SparkSession, postgresql_target: DatabaseTarget
) -> None:
    postgresql_target.run(
        "CREATE TABLE t (n bigint GENERATED ALWAYS AS IDENTITY, id uuid UNIQUE, note text DEFAULT 'none', "
        "amount numeric, doc json)"
    )
    rows = spark_utc.sql(
        "SELECT 'e7b2f6a0-0000-0000-0000-000000000001' ID, double(1.5) Amount, array(1, 2) doc, 0 _partition, 1L _offset"
    )
    writer = checked(postgresql_target, "upsert", keys=("ID",))
    assert changes(writer.table() or StructType(), rows.drop("_partition", "_offset").schema, {}) == []
    writer.publish(of(rows))
    writer.publish(of(rows.withColumn("Amount", rows["Amount"] * 2), 1))
    assert postgresql_target.run("SELECT n, id::text, note, amount, doc FROM t") == [
        [1, "e7b2f6a0-0000-0000-0000-000000000001", "none", Decimal("3"), [1, 2]]
    ]


def test_keys_without_a_unique_index_are_refused(postgresql_target: DatabaseTarget) -> None:
    postgresql_target.run("CREATE TABLE t (id bigint, other bigint, name text); CREATE UNIQUE INDEX ON t (id, other)")
    writer = postgresql_target.writer("upsert")
    with pytest.raises(InvalidInput, match=r'no unique index on id.*CREATE UNIQUE INDEX ON "public"."t" \("id"\)'):
        writer.check()
    postgresql_target.run("CREATE UNIQUE INDEX ON t (id) INCLUDE (name)")
    with pytest.raises(InvalidInput, match="no unique index"):
        writer.check()
    postgresql_target.run("CREATE UNIQUE INDEX ON t (id)")
    writer.check()


def test_a_second_run_of_the_same_batch_waits_for_the_first(
    spark_utc: SparkSession, postgresql_target: DatabaseTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = batch(spark_utc, numbered(0, 5))
    writer = postgresql_target.writer()
    writer.check()
    # Another process has written the batch's marker, and has not committed.
    postgresql_target.run("CREATE TABLE t (id bigint, name text)")
    monkeypatch.setattr("penstock.client.databases.postgresql._LOCK_SECONDS", 1)
    with connected(writer._where, "Sink sink") as other:
        other.run("BEGIN")
        other.run(f"INSERT INTO penstock_batches VALUES ('{first.marker}', 0, '', 5, now())")
        with pytest.raises(Exception, match=r"waited for a lock: .*Another transaction holds"):
            writer.publish(first)
        other.run("COMMIT")
    assert writer.publish(first).replayed


def test_columns_are_added_widened_and_renamed(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    writer = checked(postgresql_target)
    rows = spark_utc.sql("SELECT 1 id, 'a' name, 1.5 amount, named_struct('x', 1) nested")
    writer.publish(of(rows.selectExpr("id", "name", "cast(amount as decimal(10,2)) amount", "nested")))
    wider = spark_utc.sql(
        "SELECT 2L id, 'b' title, cast(2.25 as decimal(20,4)) amount, named_struct('x', 1, 'y', 2) nested, array(1.5D) more"
    )
    table = writer.table()
    assert table is not None
    results = changes(table, wider.schema, {"title": ["name"]})
    assert [type(item) for item in results] == [WidenType, RenameColumn, WidenType, AddColumn]
    assert [writer.unsupported(item) for item in results] == [None] * 4
    writer.evolve(results)
    writer.publish(of(wider, 1))
    assert postgresql_target.run("SELECT id, title, amount, nested, more FROM t ORDER BY id") == [
        [1, "a", Decimal("1.5000"), {"x": 1}, None],
        [2, "b", Decimal("2.2500"), {"x": 1, "y": 2}, [1.5]],
    ]
    interval = spark_utc.sql("SELECT INTERVAL '1' DAY later").schema
    reason = writer.unsupported(AddColumn(path=("later",), type=interval["later"].dataType))
    assert reason is not None
    assert "Column later has type interval day" in reason


def test_redshift_does_not_widen(redshift_target: DatabaseTarget) -> None:
    widen = WidenType(path=("id",), old=IntegerType(), new=LongType())
    assert redshift_target.writer().unsupported(widen) == "Redshift cannot change the type of a column"


def test_a_glue_connection_brings_address_and_secret(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    properties = {"JDBC_CONNECTION_URL": postgresql_target.url, "SECRET_ID": "shop/db", "JDBC_ENFORCE_SSL": "false"}
    asked: list[str] = []

    def secret(name: str) -> tuple[str, str]:
        asked.append(name)
        return postgresql_target.login

    sink = JdbcSink(connection="shop", table="t")
    writer = JdbcWriter(sink, secret, lambda name: GlueConnection(name=name, type="JDBC", properties=properties))
    writer.check()
    writer.publish(batch(spark_utc, numbered(0, 3)))
    assert asked == ["shop/db"]
    assert len(postgresql_target.rows()) == 3


def test_the_pages_types_are_those_of_new_tables(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    """The rows of the page on types that Spark calls by the catalog's name, by creating a table of them."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    shown, spark, database = (rows[0].index(name) for name in ("type", "Spark, Glue's scripts", "PostgreSQL"))
    same = [row for row in rows if len(row) == len(rows[0]) and row[shown] == row[spark] and row[database] != "–"]
    pairs = [(row[spark].strip("`"), row[database].strip("`")) for row in same]
    assert len(pairs) >= 14
    columns = ", ".join(f"c{number} {kind}" for number, (kind, _) in enumerate(pairs))
    checked(postgresql_target).publish(of(spark_utc.createDataFrame([], columns)))
    results = postgresql_target.run(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 't'::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert [row[0] for row in results] == [column for _, column in pairs]


def test_markers_say_what_was_written(spark_utc: SparkSession, postgresql_target: DatabaseTarget) -> None:
    writer = postgresql_target.writer()
    writer.check()
    writer.publish(batch(spark_utc, numbered(0, 7)))
    ((application, number, offsets, count, at),) = postgresql_target.run("SELECT * FROM penstock_batches")
    assert (application, number, count) == (f"penstock:shop:sink:{QUERY}", 0, 7)
    assert json.loads(offsets) == {"orders": {"0": 0}}
    assert at.tzinfo is not None

"""The SQL of the JDBC sink in both dialects, as text, and errors from what a server answers."""

import pytest
from pyspark.sql.types import ArrayType, BinaryType, DecimalType, LongType, StringType, StructType, TimestampType

from penstock.client.databases.jdbc_url import parse_jdbc_url
from penstock.client.databases.postgresql import database_error
from penstock.errors import AccessDenied, DataProblem, EnvironmentProblem, InvalidInput, NotFound, PenstockError
from penstock.spark.sinks.jdbc.statements import TableName, create_table, mark, matched, merge, stage
from penstock.spark.sinks.jdbc.values import chunks, inserts

TABLE = TableName(schema="shop", name='or"ders')
COLUMNS = (
    StructType()
    .add("id", LongType())
    .add("name", StringType())
    .add("at", TimestampType())
    .add("raw", BinaryType())
    .add("lines", ArrayType(StringType()))
    .add("price", DecimalType(10, 2))
)


def test_new_tables() -> None:
    assert create_table(TABLE, COLUMNS, ["id"], "postgresql") == (
        'CREATE TABLE IF NOT EXISTS "shop"."or""ders" ("id" bigint NOT NULL, "name" text, "at" timestamp with time zone, '
        '"raw" bytea, "lines" jsonb, "price" numeric(10,2), PRIMARY KEY ("id"))'
    )
    assert create_table(TABLE, COLUMNS, [], "redshift") == (
        'CREATE TABLE IF NOT EXISTS "shop"."or""ders" ("id" bigint, "name" varchar(65535), "at" timestamp with time zone, '
        '"raw" varbyte(1024000), "lines" super, "price" numeric(10,2))'
    )


def test_merges() -> None:
    assert stage(TABLE, ["id", "name"], "_deleted") == (
        'CREATE TEMPORARY TABLE penstock_stage AS SELECT "id", "name", false AS "_deleted" '
        'FROM "shop"."or""ders" WHERE 1 = 0'
    )
    same = '"shop"."or""ders"."id" = penstock_stage."id"'
    insert = 'INSERT INTO "shop"."or""ders" ("id", "name") SELECT "id", "name" FROM penstock_stage WHERE NOT "_deleted"'
    delete = f'DELETE FROM "shop"."or""ders" USING penstock_stage WHERE {same}'
    upsert = f'{insert} ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name"'
    assert merge(TABLE, ["id", "name"], ["id"], "_deleted", "postgresql", deletes=False) == [upsert]
    assert merge(TABLE, ["id", "name"], ["id"], "_deleted", "postgresql", deletes=True) == [
        f'{delete} AND penstock_stage."_deleted"',
        upsert,
    ]
    assert merge(TABLE, ["id", "name"], ["id"], "_deleted", "redshift", deletes=False) == [delete, insert]
    (keys_only,) = merge(TABLE, ["id"], ["id"], "_deleted", "postgresql", deletes=False)
    assert keys_only.endswith('ON CONFLICT ("id") DO NOTHING')


def test_only_postgresql_has_conflicts() -> None:
    assert mark(TABLE, "postgresql").endswith(" ON CONFLICT DO NOTHING")
    assert "CONFLICT" not in mark(TABLE, "redshift")


def test_columns_match_exactly_first_and_then_in_any_case() -> None:
    assert matched(["id", "Name", "new"], ["ID", "id", "name"]) == {"id": "id", "Name": "name"}


def test_rows_are_sent_in_bounded_groups() -> None:
    lines = ["x" * 100_000] * 7
    messages = list(chunks(lines))
    assert [message.count(b"\n") for message in messages] == [3, 3, 1]
    assert b"".join(messages).decode().splitlines() == lines
    assert [text.count("(") for text in inserts("INSERT INTO t", ["(1)"] * 2500)] == [1000, 1000, 500]
    assert list(inserts("INSERT INTO t", ["(1)", "(2)"])) == ["INSERT INTO t VALUES (1),(2)"]
    assert list(chunks([])) == []
    assert list(inserts("INSERT INTO t", [])) == []


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("28P01", AccessDenied),
        ("42501", AccessDenied),
        ("42P01", NotFound),
        ("3D000", NotFound),
        ("22021", DataProblem),
        ("23505", DataProblem),
        ("42804", InvalidInput),
        ("55P03", EnvironmentProblem),
        ("57P01", EnvironmentProblem),
        ("53100", EnvironmentProblem),
    ],
)
def test_states_are_errors_with_a_remedy(state: str, kind: type[PenstockError]) -> None:
    address = parse_jdbc_url("jdbc:postgresql://h/d?user=u")
    error = database_error({"C": state, "M": "why", "D": "which", "W": "where\nmore"}, address, "Sink orders")
    assert type(error) is kind
    assert error.message.startswith("Sink orders: postgresql://h:5432/d")
    assert error.message.endswith("why; which; where.")
    assert error.remedy

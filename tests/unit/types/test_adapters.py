"""The adapters of systems whose columns are the lake's: PostgreSQL and Redshift, DynamoDB, Spark's schemas as JSON."""

from typing import Any

import pytest

from penstock.types import avro, dynamodb, postgresql
from penstock.types.hive import parse, render, stored
from penstock.types.model import LakeType, Scalar, TypeMissing
from penstock.types.spark import ddl, of_json

# The lake's type, that of a new column in PostgreSQL and in Redshift, DynamoDB's code.
SCALARS = {
    "boolean": ("boolean", "boolean", "BOOL"),
    "tinyint": ("smallint", "smallint", "N"),
    "smallint": ("smallint", "smallint", "N"),
    "int": ("integer", "integer", "N"),
    "bigint": ("bigint", "bigint", "N"),
    "float": ("real", "real", "N"),
    "double": ("double precision", "double precision", "N"),
    "decimal(20,4)": ("numeric(20,4)", "numeric(20,4)", "N"),
    "string": ("text", "varchar(65535)", "S"),
    "varchar(9)": ("varchar(9)", "varchar(9)", "S"),
    "char(3)": ("char(3)", "char(3)", "S"),
    "binary": ("bytea", "varbyte(1024000)", "B"),
    "date": ("date", "date", "S"),
    "timestamp": ("timestamp with time zone", "timestamp with time zone", "S"),
    "timestamptz": ("timestamp with time zone", "timestamp with time zone", "S"),
    "timestamp_ntz": ("timestamp without time zone", "timestamp without time zone", "S"),
    "void": ("text", "varchar(65535)", "NULL"),
    "array<int>": ("jsonb", "super", "L"),
    "map<string,int>": ("jsonb", "super", "M"),
    "struct<a:int>": ("jsonb", "super", "M"),
}


@pytest.mark.parametrize("text", SCALARS)
def test_every_type_has_a_column_and_an_attribute(text: str) -> None:
    kind = parse(text)
    results = (*(postgresql.column_type(kind, name) for name in ("postgresql", "redshift")), dynamodb.code_of(kind))
    assert results == SCALARS[text]


@pytest.mark.parametrize("text", ["geometry", "uuid", "time"])
def test_what_a_system_lacks_is_refused(text: str) -> None:
    with pytest.raises(TypeMissing, match=text):
        postgresql.column_type(parse(text), "postgresql")
    if text != "uuid":
        with pytest.raises(TypeMissing, match=text):
            dynamodb.code_of(parse(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("integer", "int"),
        ("bigint[][]", "array<array<bigint>>"),
        ("real", "float"),
        ("double precision", "double"),
        ("numeric(10,2)", "decimal(10,2)"),
        ("numeric", "decimal(38,18)"),
        ("numeric[]", "array<decimal(38,18)>"),
        ("numeric(50,2)", postgresql.ANY),
        ("numeric(5,-2)", postgresql.ANY),
        ("numeric(2,5)", postgresql.ANY),
        ("character varying(7)", "varchar(7)"),
        ("character varying", "string"),
        ("character(2)", "char(2)"),
        ("text", "string"),
        ("timestamp(3) with time zone", "timestamp with local time zone"),
        ("timestamp(6) without time zone", "timestamp_ntz"),
        ("timestamp without time zone", "timestamp_ntz"),
        ("time with time zone", "string"),
        ("interval day to second(3)", "string"),
        ("jsonb", postgresql.ANY),
        ("binary varying", "binary"),
        ('public."Mood of day"', "string"),
    ],
)
def test_columns_of_a_database_have_a_type_of_the_lake(text: str, kind: str | LakeType) -> None:
    assert postgresql.of_text(text) == (parse(kind) if isinstance(kind, str) else kind)


@pytest.mark.parametrize(
    ("name", "numbers", "kind"),
    [
        ("numeric", [None, 10, 2], "decimal(10,2)"),
        ("numeric", [None, 38, None], "decimal(38,0)"),
        ("numeric", [None, None, None], None),
        ("numeric", [None, 39, 2], None),
        ("numeric", [None, 3, -2], None),
        ("character varying", [5, None, None], "varchar(5)"),
        ("character varying", [None, None, None], "string"),
        ("character", [None, None, None], "char(1)"),
        ("super", [None, None, None], None),
        ("varbyte", [None, None, None], "binary"),
        ("inet", [None, None, None], "string"),
    ],
)
def test_the_information_schema_names_types(name: str, numbers: list[int | None], kind: str | None) -> None:
    assert postgresql.of_column(name, numbers) == (postgresql.ANY if kind is None else parse(kind))


WIDER = {
    "tinyint": "smallint",
    "timestamp": "timestamptz",
    **dict.fromkeys(("void", "varchar(9)", "char(3)"), "string"),
}


def test_a_new_column_is_read_as_what_it_was_made_for() -> None:
    for text, (column, *_) in SCALARS.items():
        back = postgresql.of_column(column.split("(")[0], [None, 20, 4])
        if isinstance(parse(text), Scalar):
            assert back == parse(WIDER.get(text, text)), text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("long", "bigint"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("timestamp_ntz", "timestamp"),
        ({"type": "array", "elementType": "short", "containsNull": True}, "array<smallint>"),
        ({"type": "map", "keyType": "string", "valueType": "byte", "valueContainsNull": True}, "map<string,tinyint>"),
        (
            {"type": "struct", "fields": [{"name": "a:b", "type": "integer", "nullable": True, "metadata": {}}]},
            "struct<`a:b`:int>",
        ),
    ],
)
def test_sparks_json_names_types_whose_texts_are_read(kind: Any, text: str) -> None:
    assert stored(of_json(kind)) == text
    assert render(parse(text)) == text


@pytest.mark.parametrize(
    "kind", ["variant", "interval day to second", "decimal(39,1)", "decimal(x)", {"type": "udt"}, 5, None]
)
def test_what_is_no_type_in_sparks_json_is_refused(kind: Any) -> None:
    with pytest.raises(TypeMissing):
        of_json(kind)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bigint", "BIGINT"),
        ("decimal(10,2)", "DECIMAL(10,2)"),
        ("timestamptz", "TIMESTAMP"),
        ("timestamp_ntz", "TIMESTAMP_NTZ"),
        ("varchar(3)", "VARCHAR(3)"),
        ("uuid", "STRING"),
        ("map<string,array<void>>", "MAP<STRING, ARRAY<VOID>>"),
        ("struct<`a:b`:int,`c``d`:struct<e f:date>>", "STRUCT<`a:b`: INT, `c``d`: STRUCT<`e f`: DATE>>"),
    ],
)
def test_spark_sql_reads_a_types_text(text: str, words: str) -> None:
    assert ddl(parse(text)) == words


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tinyint", ["null", "int"]),
        ("bigint", ["null", "long"]),
        ("void", "null"),
        ("char(3)", ["null", "string"]),
        ("timestamp", ["null", {"type": "long", "logicalType": "timestamp-micros"}]),
        ("timestamp_ntz", ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]),
        ("decimal(9,2)", ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]),
        ("map<varchar(3),void>", ["null", {"type": "map", "values": "null"}]),
    ],
)
def test_avro_has_a_type_that_may_be_null(text: str, kind: Any) -> None:
    assert avro.record("row", [("c", parse(text))])["fields"] == [{"name": "c", "type": kind, "default": None}]


def test_avro_refuses_keys_that_are_no_texts_and_types_that_it_lacks() -> None:
    for text in ("map<int,int>", "variant"):
        with pytest.raises(TypeMissing):
            avro.record("row", [("c", parse(text))])


def test_records_inside_have_names_of_their_own() -> None:
    kind = parse("array<struct<a:struct<b:int>>>")
    ((_, items), *_) = (avro.record("row", [("c", kind)])["fields"][0]["type"],)
    outer = items["items"][1]
    assert (outer["name"], outer["fields"][0]["type"][1]["name"]) == ("row_c_item", "row_c_item_a")

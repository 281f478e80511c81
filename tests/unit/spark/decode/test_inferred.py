"""Types read from Spark's schemas of variants, merged, and written as JSON Schemas that later documents extend."""

import json

import pytest

from penstock.errors import DataProblem
from penstock.spark.decode.formats.json import document_shape
from penstock.spark.decode.inferred import InferredSchema, Shape, check_names, extended, json_schema, merged, read_shape
from penstock.types.hive import render


def hive(*shapes: str) -> str:
    kind = Shape("void")
    for shape in shapes:
        kind = merged(kind, read_shape(shape))
    return render(document_shape(json_schema(kind)).type)


@pytest.mark.parametrize(
    ("shapes", "columns"),
    [
        (["OBJECT<a: BIGINT, b: STRING>"], "struct<a:bigint,b:string>"),
        (["OBJECT<a: BIGINT>", "OBJECT<a: DECIMAL(2,1), b: BOOLEAN>"], "struct<a:double,b:boolean>"),
        (["OBJECT<a: BIGINT>", "OBJECT<a: STRING>"], "struct<a:string>"),
        (["OBJECT<a: VOID, b: ARRAY<VOID>, c: OBJECT<>, d: DOUBLE>"], "struct<d:double>"),
        (["OBJECT<a: VOID>", "OBJECT<a: OBJECT<b: ARRAY<BIGINT>>>"], "struct<a:struct<b:array<bigint>>>"),
        (["OBJECT<a: ARRAY<VARIANT>>"], "struct<a:array<string>>"),
        (["OBJECT<`a.b`: BIGINT, `c``d`: OBJECT<`e>f`: STRING>>"], None),
        (["OBJECT<`a.b`: BIGINT, c: ARRAY<OBJECT<d: BIGINT>>>"], "struct<a.b:bigint,c:array<struct<d:bigint>>>"),
    ],
)
def test_the_types_of_documents_become_columns(shapes: list[str], columns: str | None) -> None:
    if columns is None:
        assert read_shape(shapes[0]).fields["c`d"].fields["e>f"] == Shape("string")
    else:
        assert hive(*shapes) == columns


@pytest.mark.parametrize(
    ("known", "seen", "now"),
    [
        ("OBJECT<a: BIGINT>", "OBJECT<a: STRING, b: BIGINT>", "struct<a:bigint,b:bigint>"),
        ("OBJECT<a: BIGINT>", "OBJECT<a: DOUBLE>", "struct<a:double>"),
        ("OBJECT<a: DOUBLE>", "OBJECT<a: BIGINT>", "struct<a:double>"),
        (
            "OBJECT<a: ARRAY<OBJECT<b: STRING>>>",
            "OBJECT<a: ARRAY<OBJECT<c: STRING>>>",
            "struct<a:array<struct<b:string,c:string>>>",
        ),
    ],
)
def test_a_known_type_is_kept_or_widened(known: str, seen: str, now: str) -> None:
    assert render(document_shape(json_schema(extended(read_shape(known), read_shape(seen)))).type) == now


def test_a_later_run_goes_on_with_the_last_definition() -> None:
    first = json_schema(read_shape("OBJECT<a: ARRAY<OBJECT<b: DOUBLE>>, c: ARRAY<VARIANT>>"))
    schema = InferredSchema()
    schema.recall({"number": 3, "definition": first})
    schema.recall({})
    (version,) = schema.versions("", "")
    assert (version.number, json.loads(version.definition)) == (3, json.loads(first))


@pytest.mark.parametrize(
    "shape", ["OBJECT<`a b`: BIGINT>", "OBJECT<a: BIGINT, A: BIGINT>", "OBJECT<x: ARRAY<OBJECT<`,`: BIGINT>>>"]
)
def test_names_that_no_column_can_have_are_refused(shape: str) -> None:
    with pytest.raises(DataProblem, match="no column can be named after"):
        check_names(read_shape(shape))

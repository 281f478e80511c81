"""Rules of DynamicFrames that need no Spark: paths, mappings, actions, records, descriptions, arguments."""

import json
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import types as s

from awsglue import transforms
from penstock.errors import InvalidInput
from penstock.glue.frames.error_records import StageOptions
from penstock.glue.frames.mapping import mapping_spec, named_type, type_name
from penstock.glue.frames.records import DynamicRecord, attempts, record_reader, row_writer
from penstock.glue.frames.resolving import Action, action_of, resolve_path
from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.choices import SPARSE, choice_type, glue_type, has_choice, is_choice, plain, spark_type
from penstock.glue.schemas.inference import Observed, normalised, widened
from penstock.spark.types import ddl

CHOICE = choice_type({"string": s.StringType(), "long": s.LongType()})
SCHEMA = s.StructType(
    [
        s.StructField("id", CHOICE),
        s.StructField("tags", s.ArrayType(s.StructType([s.StructField("k", CHOICE)]))),
        s.StructField("m", s.MapType(s.StringType(), CHOICE)),
        s.StructField("price", s.DecimalType(8, 3)),
    ]
)


def test_mappings_have_two_three_or_four_parts() -> None:
    four = mapping_spec(("a.b", "String", "`c.d`", "Long"))
    assert (four.source, four.source_type, four.target, four.target_type) == (("a", "b"), "String", ("c.d",), "Long")
    assert mapping_spec(("a", "b")).target_type is None
    assert (mapping_spec(["a", "b", "int"]).source_type, mapping_spec(["a", "b", "int"]).target_type) == (None, "int")
    for wrong in (("a",), ("a", "b", "c", "d", "e"), ("a", None), "ab"):
        with pytest.raises(InvalidInput, match="is not a mapping"):
            mapping_spec(wrong)


def test_types_have_aws_s_names() -> None:
    names = ["bigint", "Long", "decimal(10,2)", "varchar(3)", "struct<a:int>", " integer ", "tinyint"]
    assert [type_name(name) for name in names] == ["long", "long", "decimal", "string", "struct", "int", "byte"]
    # A decimal without digits has two behind the point, where Spark's own has none.
    assert [type_name(name) for name in ("double precision", "timestamptz", "timestamp_ntz")] == [
        *("double", "timestamp", "timestamp_ntz"),
    ]
    assert named_type("decimal") == s.DecimalType(10, 2)
    assert (named_type("String"), named_type("bigint"), named_type("array")) == (s.StringType(), s.LongType(), None)


def test_actions_and_paths_of_resolve_choice() -> None:
    assert action_of(" make_cols ") == Action("make_cols")
    assert action_of("KeepAsStruct") == Action("make_struct")
    assert action_of("cast:long") == Action("cast", "long")
    for wrong in ("cast", "cast:", "make_cols:int", "drop", ""):
        with pytest.raises(InvalidInput, match="is not an action of ResolveChoice"):
            action_of(wrong)
    assert resolve_path("a.list[].`b.c`") == ("a", "list", "[]", "b.c")
    assert resolve_path("list[][]") == ("list", "[]", "[]")


def test_records_are_dicts_with_attributes_and_choices_their_values() -> None:
    row = ((None, "x"), [((7, None),), ((None, "y"),)], {"a": (None, "z"), "b": None}, Decimal("1.5"))
    read, write = record_reader(SCHEMA), row_writer(SCHEMA)
    assert read is not None
    assert write is not None
    record = read(row)
    assert record == {"id": "x", "tags": [{"k": 7}, {"k": "y"}], "m": {"a": "z", "b": None}, "price": Decimal("1.5")}
    assert (record.id, record.tags[0].k) == ("x", 7)
    assert write(record) == row
    assert write({"id": 3}) == ((3, None), None, None, None)
    record.new = 1
    del record.id
    assert sorted(record) == ["m", "new", "price", "tags"]
    with pytest.raises(AttributeError, match="The record has no field id"):
        _ = record.id


def test_an_exception_is_the_error_of_its_record() -> None:
    def function(record: DynamicRecord) -> Any:
        record["n"] -= 1
        return 10 // record["n"]

    schema = s.StructType([s.StructField("n", s.IntegerType())])
    first, second, third = attempts([(2,), (1,), (6,)], schema, function)
    assert (first.result, third.result, first.error) == (10, 2, None)
    assert second.error is not None
    message, trace, record = second.error
    assert message.startswith("ZeroDivisionError: ")
    assert any("in function" in line for line in trace)
    # The record is as it was before the function.
    assert json.loads(record) == {"n": 1}
    _, brief, _ = attempts([(2,), (1,), (6,)], schema, function, traced=False)
    assert brief.error == (message, [], "")


def test_a_record_lacks_a_field_that_its_json_lacks() -> None:
    schema = s.StructType([s.StructField("n", s.IntegerType(), True, dict(SPARSE)), s.StructField("m", s.IntegerType())])
    read = record_reader(schema)
    assert read is not None
    assert (read((None, None)), read((1, 2))) == ({"m": None}, {"n": 1, "m": 2})


def test_values_keep_the_types_that_their_fields_had() -> None:
    hint = g.StructType(
        [g.Field("big", g.LongType()), g.Field("d", g.DecimalType(8, 3)), g.Field("m", g.MapType(g.LongType()))]
    )
    observed = Observed(hint)
    observed.add({"big": 1, "d": Decimal("2.5"), "m": {"a": 1}, "new": 1})
    assert observed.type() == g.StructType([*hint, g.Field("new", g.IntegerType())])
    observed.add({"d": Decimal("2.55555"), "big": "x"})
    kind = observed.type()
    assert isinstance(kind, g.StructType)
    assert kind.getField("d").dataType == g.DecimalType(10, 5)
    assert kind.getField("big").dataType == g.ChoiceType([g.LongType(), g.StringType()])
    numbers = g.ChoiceType([g.IntegerType(), g.DoubleType(), g.StringType()])
    assert widened(g.ArrayType(numbers)) == g.ArrayType(g.ChoiceType([g.DoubleType(), g.StringType()]))
    assert normalised({1: (1, {2})}) == {"1": [1, [2]]}
    with pytest.raises(TypeError, match="type complex cannot be in a record"):
        normalised([1j])


def test_marks_are_of_choices_only_and_go_with_them() -> None:
    assert is_choice(CHOICE)
    assert has_choice(SCHEMA)
    assert not has_choice(plain(SCHEMA))
    assert spark_type(glue_type(SCHEMA)) == SCHEMA
    assert ddl(SCHEMA["tags"].dataType) == "ARRAY<STRUCT<`k`: STRUCT<`long`: BIGINT, `string`: STRING>>>"
    assert not is_choice(s.StructType([]))


def test_all_transforms_take_the_same_last_arguments() -> None:
    assert StageOptions.of(("ctx", "info", 2), {"totalThreshold": 5}) == StageOptions(
        transformation_ctx="ctx", info="info", stage_threshold=2, total_threshold=5
    )
    for given, named in ((("a", "b", 1, 2, 3), {}), (("a",), {"transformation_ctx": "b"}), ((), {"context": "a"})):
        with pytest.raises(TypeError):
            StageOptions.of(given, named)


def test_transforms_describe_themselves() -> None:
    load = json.loads(transforms.describe_transform("relationalize"))["transform"]
    assert (load["name"], load["returns"]["type"]) == ("Relationalize", "DynamicFrameCollection")
    assert [(arg["name"], arg["optional"], arg["defaultValue"]) for arg in load["args"]] == [
        ("frame", False, None),
        ("staging_path", True, None),
        ("name", True, "roottable"),
        ("options", True, None),
    ]
    assert transforms.get_transform("nothing") is None
    assert transforms.describe_transform("nothing") == "{}"
    assert repr(transforms.get_transform("join")) == "<Transform: Join>"

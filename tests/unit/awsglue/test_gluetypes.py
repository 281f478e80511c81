"""Glue's types: JSON and back, the tree that AWS prints, and what values of different types become."""

import json
from datetime import date, datetime
from decimal import Decimal

import pytest

from penstock.errors import InvalidInput
from penstock.glue.schemas import gluetypes as g
from penstock.glue.schemas.inference import check_names, type_of, type_of_texts
from penstock.glue.schemas.tree import schema_tree

# The schema that AWS's tutorial on ResolveChoice prints, and types that it does not have.
MEDICARE = g.StructType(
    [
        g.Field("drg definition", g.StringType()),
        g.Field("provider id", g.ChoiceType([g.StringType(), g.LongType()])),
        g.Field("links", g.ArrayType(g.StructType([g.Field("note", g.StringType()), g.Field("url", g.StringType())]))),
        g.Field("charges", g.MapType(g.DecimalType(12, 4))),
        g.Field("status", g.EnumType(["a", "b"])),
    ]
)
PRINTED = """\
root
|-- drg definition: string
|-- provider id: choice
|    |-- long
|    |-- string
|-- links: array
|    |-- element: struct
|    |    |-- note: string
|    |    |-- url: string
|-- charges: map
|    |-- keyType: string
|    |-- valueType: decimal
|-- status: enum"""


def test_a_schema_is_printed_as_aws_does() -> None:
    assert schema_tree(MEDICARE) == PRINTED


def test_json_is_read_back() -> None:
    assert g.type_of_json(json.dumps(MEDICARE.jsonValue())) == MEDICARE
    assert g.Field("a", g.IntegerType()).jsonValue() == {
        "name": "a",
        "container": {"dataType": "int", "properties": {}},
        "properties": {},
    }
    assert g.DecimalType().jsonValue() == {"dataType": "decimal", "properties": {}, "precision": 10, "scale": 2}
    with pytest.raises(ValueError, match="'wide' is not a type of Glue"):
        g.type_of_json({"dataType": "wide"})
    assert MEDICARE.hasField("links")
    assert MEDICARE.getField("provider id").dataType.typeName() == "choice"
    with pytest.raises(ValueError, match="duplicate choice"):
        g.ChoiceType([g.LongType(), g.LongType()])


def test_types_are_merged() -> None:
    choice = g.mergeDataTypes(g.LongType(), g.StringType())
    assert choice == g.ChoiceType([g.LongType(), g.StringType()])
    assert g.mergeDataTypes(choice, g.LongType()) == choice
    assert g.mergeDataTypes(g.NullType(), g.LongType()) == g.LongType()
    one = g.StructType([g.Field("a", g.IntegerType()), g.Field("b", g.StringType())])
    other = g.StructType([g.Field("b", g.IntegerType()), g.Field("c", g.DateType())])
    both = g.mergeDataTypes(one, other)
    assert both == g.StructType(
        [
            g.Field("a", g.IntegerType()),
            g.Field("b", g.ChoiceType([g.StringType(), g.IntegerType()])),
            g.Field("c", g.DateType()),
        ]
    )
    # Structs in a choice are one struct, and the operands stay what they were.
    assert g.mergeDataTypes(g.ChoiceType([g.LongType(), one]), other) == g.ChoiceType([g.LongType(), both])
    assert len(one) == 2
    assert g.mergeDataTypes(g.DecimalType(5, 0), g.DecimalType(4, 3)) == g.DecimalType(8, 3)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (1, "int"),
        (-(2**31), "int"),
        (2**31, "long"),
        (2**63, "decimal"),
        (True, "boolean"),
        (1.5, "double"),
        ("x", "string"),
        (None, "null"),
        (b"x", "binary"),
        (date(2024, 1, 2), "date"),
        (datetime(2024, 1, 2), "timestamp"),
        (Decimal("1.50"), "decimal"),
        ({}, "struct"),
        ([1], "array"),
    ],
)
def test_each_value_has_its_own_type(value: object, name: str) -> None:
    assert type_of(value).typeName() == name


def test_fields_that_differ_only_in_case_are_refused() -> None:
    check_names(type_of({"a": [{"b": 1}], "B": 1}))
    with pytest.raises(InvalidInput, match="fields id and ID, which differ only in case"):
        check_names(type_of({"a": [1, {"b": {"id": 1, "ID": 2}}]}))


def test_the_type_of_texts_has_a_choice_where_records_disagree() -> None:
    texts = ['{"a": 1, "b": [1, "x"]}', '[{"a": 3000000000}, {"a": null, "c": {"d": 1}}]', "{bad", None, "3"]
    ((found, bad, null),) = type_of_texts(texts)
    assert (bad, set(null)) == (2, {"a"})
    assert isinstance(found, g.StructType)
    assert schema_tree(found).splitlines()[1:] == [
        "|-- a: choice",
        "|    |-- int",
        "|    |-- long",
        "|-- b: array",
        "|    |-- element: choice",
        "|    |    |-- int",
        "|    |    |-- string",
        "|-- c: struct",
        "|    |-- d: int",
    ]
    assert type_of(Decimal("0.001")) == g.DecimalType(3, 3)
    assert type_of(Decimal("12E3")) == g.DecimalType(5, 0)
    with pytest.raises(TypeError, match="type object cannot be in a record"):
        type_of(object())

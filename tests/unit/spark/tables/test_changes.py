"""What a batch's columns change in a table, and types that hold both."""

import itertools

import pytest
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    VariantType,
)

from penstock.spark.tables.changes import AddColumn, Incompatible, RenameColumn, WidenType, changes, common_type

INT, BIG, TEXT = IntegerType(), LongType(), StringType()
NO_ALIASES: dict[str, frozenset[str]] = {}


def struct(**fields: DataType) -> StructType:
    made = StructType()
    for name, kind in fields.items():
        made = made.add(name, kind)
    return made


def test_the_same_columns_change_nothing_in_any_case_and_order() -> None:
    assert changes(struct(a=INT, b=TEXT), struct(B=VarcharType(10), A=INT), NO_ALIASES) == []


def test_a_column_of_any_value_takes_every_type() -> None:
    batch = struct(a=struct(x=INT), b=ArrayType(TEXT), c=BIG)
    assert changes(struct(a=VariantType(), b=VariantType(), c=VariantType()), batch, NO_ALIASES) == []


def test_columns_that_the_batch_lacks_stay_unless_the_table_requires_them() -> None:
    table = struct(a=INT, b=TEXT)
    assert changes(table, struct(a=INT), NO_ALIASES) == []
    required = StructType().add("a", INT).add("b", TEXT, nullable=False)
    (change,) = changes(required, struct(a=INT), NO_ALIASES)
    assert change == Incompatible(path=("b",), old=TEXT, new=None, reason="the batch lacks it, and the table requires it")


def test_new_columns_and_fields_inside_structs_arrays_and_maps() -> None:
    table = struct(s=struct(x=INT), a=ArrayType(struct(x=INT)), m=MapType(TEXT, struct(x=INT)))
    inner = struct(x=INT, y=BIG)
    batch = struct(s=inner, a=ArrayType(inner), m=MapType(TEXT, inner), new=struct(z=INT))
    assert changes(table, batch, NO_ALIASES) == [
        AddColumn(path=("s", "y"), type=BIG),
        AddColumn(path=("a", "element", "y"), type=BIG),
        AddColumn(path=("m", "value", "y"), type=BIG),
        AddColumn(path=("new",), type=struct(z=INT)),
    ]


def test_widened_types_at_every_depth() -> None:
    table = struct(n=INT, s=struct(f=FloatType()), a=ArrayType(INT), m=MapType(INT, INT))
    batch = struct(n=BIG, s=struct(f=DoubleType()), a=ArrayType(BIG), m=MapType(BIG, BIG))
    assert changes(table, batch, NO_ALIASES) == [
        WidenType(path=("n",), old=INT, new=BIG),
        WidenType(path=("s", "f"), old=FloatType(), new=DoubleType()),
        WidenType(path=("a", "element"), old=INT, new=BIG),
        WidenType(path=("m", "key"), old=INT, new=BIG),
        WidenType(path=("m", "value"), old=INT, new=BIG),
    ]


def test_a_batch_with_narrower_types_changes_nothing() -> None:
    table = struct(n=BIG, f=DoubleType(), d=DecimalType(12, 2), t=TimestampType())
    assert changes(table, struct(n=INT, f=FloatType(), d=DecimalType(10, 2), t=TimestampNTZType()), NO_ALIASES) == []


def test_renames_by_alias_come_before_the_changes_of_the_field() -> None:
    table = struct(old=struct(x=INT), items=ArrayType(struct(p=INT)))
    batch = struct(new=struct(x=BIG), items=ArrayType(struct(price=INT)))
    aliases = {"new": {"older", "OLD"}, "items[].price": {"items[].p"}}
    assert changes(table, batch, aliases) == [
        RenameColumn(old=("old",), new=("new",)),
        WidenType(path=("new", "x"), old=INT, new=BIG),
        RenameColumn(old=("items", "element", "p"), new=("items", "element", "price")),
    ]


def test_an_alias_that_the_batch_still_has_or_another_field_took_is_a_new_column() -> None:
    assert changes(struct(old=INT), struct(old=INT, new=INT), {"new": {"old"}}) == [AddColumn(path=("new",), type=INT)]
    assert changes(struct(old=INT), struct(n1=INT, n2=INT), {"n1": {"old"}, "n2": {"old"}}) == [
        RenameColumn(old=("old",), new=("n1",)),
        AddColumn(path=("n2",), type=INT),
    ]


def test_types_without_a_common_one_are_incompatible() -> None:
    results = changes(struct(a=TEXT, b=ArrayType(INT), c=BIG), struct(a=INT, b=INT, c=FloatType()), NO_ALIASES)
    assert [
        (type(incompatible), incompatible.path) for incompatible in results if isinstance(incompatible, Incompatible)
    ] == [
        (Incompatible, ("a",)),
        (Incompatible, ("b",)),
        (Incompatible, ("c",)),
    ]
    assert results[0].reason == "no type holds both string and int without loss"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (DecimalType(10, 2), DecimalType(12, 4), DecimalType(12, 4)),
        (DecimalType(12, 0), DecimalType(10, 4), DecimalType(16, 4)),
        (DecimalType(38, 0), DecimalType(38, 10), None),
        (INT, DoubleType(), DoubleType()),
        (BIG, DoubleType(), None),
        (INT, FloatType(), None),
        (ByteType(), ShortType(), ShortType()),
        (DateType(), TimestampNTZType(), TimestampNTZType()),
        (BIG, DecimalType(20, 0), None),
    ],
)
def test_common_types(one: DataType, other: DataType, expected: DataType | None) -> None:
    assert common_type(one, other) == expected
    assert common_type(other, one) == expected


ATOMS = [ByteType(), INT, BIG, FloatType(), DoubleType(), DecimalType(9, 2), DecimalType(20, 4), DateType(), TimestampType()]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(ATOMS, 2)))
def test_a_table_that_was_widened_has_no_further_changes(one: DataType, other: DataType) -> None:
    wide = common_type(one, other)
    if wide is not None:
        assert changes(struct(a=wide), struct(a=one), NO_ALIASES) == []
        assert changes(struct(a=wide), struct(a=other), NO_ALIASES) == []

"""The lake's types as values, and their texts."""

import pytest

from penstock.types.hive import MAX_LENGTH, TypeTooLong, parse, render
from penstock.types.model import (
    MAX_DEPTH,
    SCALARS,
    STRING,
    Array,
    Field,
    LakeType,
    Map,
    Scalar,
    Struct,
    TypeMissing,
    decimal,
    fold,
    replace_fields,
    scalar_of,
)


@pytest.mark.parametrize("name", sorted(SCALARS))
def test_each_scalar_is_read_from_its_own_text(name: str) -> None:
    kind = decimal(12, 3) if name == "decimal" else Scalar(name)
    assert parse(render(kind)) == kind
    assert parse(render(Map(STRING, Array(Struct((Field("a", kind),)))))) == Map(STRING, Array(Struct((Field("a", kind),))))


@pytest.mark.parametrize("text", ["timestamp(6)", "time(6)", "timestamp(6) with local time zone", "varchar(3)", "char(1)"])
def test_digits_and_lengths_are_kept(text: str) -> None:
    assert render(parse(text)) == text


def test_digits_of_a_zoned_time_stand_before_the_zone() -> None:
    assert parse("timestamp(6)  WITH local TIME zone") == Scalar("timestamptz", (6,))
    assert parse("struct<a:timestamp(3) with local time zone,b:int>").inner == (Scalar("timestamptz", (3,)), Scalar("int"))


def test_a_type_that_is_there_many_times_is_rendered_once() -> None:
    kind: LakeType = Scalar("int")
    for _ in range(MAX_DEPTH):
        kind = Struct((Field("a", kind), Field("b", kind)))
    with pytest.raises(TypeTooLong, match=f"the catalog holds {MAX_LENGTH}"):
        render(kind)


def test_a_fold_goes_from_the_inside_out() -> None:
    kind = parse("struct<a:array<int>,b:map<string,decimal(5,2)>>")
    names = fold(
        kind,
        scalar=lambda scalar: [scalar.name],
        array=lambda element: ["array", *element],
        mapping=lambda key, value: ["map", *key, *value],
        struct=lambda struct, types: [field.name for field in struct] + [name for inner in types for name in inner],
    )
    assert names == ["a", "b", "array", "int", "map", "string", "decimal"]
    assert fold(kind, scalar=lambda scalar: scalar, array=Array, mapping=Map, struct=replace_fields) == kind


def test_what_a_system_lacks_is_named() -> None:
    with pytest.raises(TypeMissing, match="Avro has no type for geometry"):
        scalar_of({"int": "int"}, Scalar("geometry"), "Avro")
    with pytest.raises(TypeMissing, match="39,2"):
        decimal(39, 2)

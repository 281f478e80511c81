"""Which type holds the values of two: one function, and a set of rules for each system, as they differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.types.model import INTEGERS, MAX_PRECISION, STRING, Array, Field, LakeType, Map, Scalar, Struct

__all__ = ["DELTA", "ICEBERG", "INSERT", "JSON_VALUES", "LOSSLESS", "PARQUET", "TEXT_PARTITIONS", "Rules", "fits", "widen"]

_Names = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a system reads as what."""

    wider: _Names
    """By the name of a scalar, those whose values it holds."""
    decimals: Literal["equal", "same scale", "any"] = "any"
    """Which decimals one decimal holds: itself, those of its scale, or all that lose no digit."""
    integers_as_decimals: bool = False
    structs: Literal["by name", "by position"] = "by name"
    """By name, a struct has the fields of both. By position, both have as many fields."""
    otherwise: Scalar | None = None
    """The type of values that have none in common, None if there is none."""


def _chain(*names: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(names[:at]) for at, name in enumerate(names) if at}


_SMALL = frozenset({"tinyint", "smallint", "int"})
_TEXTS = frozenset({"string", "varchar", "char"})
_MOMENTS = frozenset({"timestamp", "timestamptz", "timestamp_ntz"})

PARQUET = Rules(wider={**_chain(*INTEGERS), "double": _SMALL | {"float"}}, integers_as_decimals=True)
"""Files of both types are read as the wider one by Spark's and DuckDB's readers of Parquet.

Source: Spark, "ParquetVectorUpdaterFactory"; a bigint has more digits than a double.
"""

LOSSLESS = Rules(
    wider={
        **_chain(*INTEGERS),
        "double": _SMALL | {"float"},
        **dict.fromkeys(_TEXTS, _TEXTS),
        **dict.fromkeys(_MOMENTS, _MOMENTS | {"date"}),
    }
)
"""A table that follows its stream's schema gets the wider type; no value is lost.

Texts are of one length there, and a timestamp without a zone is one in UTC. Source: Delta protocol, "Type widening".
"""

DELTA = Rules(
    wider={**_chain(*INTEGERS), "double": _SMALL | {"float"}, "timestamp_ntz": frozenset({"date"})},
)
"""Columns that ALTER TABLE changes, decimals of integers aside. Source: Delta Lake documentation, "Delta type widening"."""

ICEBERG = Rules(wider={"bigint": frozenset({"int"}), "double": frozenset({"float"})}, decimals="same scale")
"""Columns that ALTER TABLE changes. Source: Iceberg table specification, "Schema Evolution", promotions of version 2."""

INSERT = Rules(
    wider={
        **_chain(*INTEGERS),
        "float": frozenset({*INTEGERS, "decimal"}),
        "double": frozenset({*INTEGERS, "decimal", "float"}),
        **dict.fromkeys(_TEXTS, _TEXTS),
        "timestamp": frozenset({"date"}),
        "timestamptz": frozenset({"date"}),
    },
    integers_as_decimals=True,
    structs="by position",
)
"""Values of a query that a table's column takes without a CAST. Source: Trino documentation, "INSERT", "Type coercion"."""

TEXT_PARTITIONS = Rules(
    wider={**_chain(*INTEGERS), "double": frozenset({"float"}), "string": _TEXTS}, decimals="equal", structs="by position"
)
"""Partitions of text with types other than the table's. Source: Trino documentation, "Hive connector", schema evolution."""

JSON_VALUES = Rules(wider=_chain("int", "bigint", "double"), otherwise=STRING)
"""Values under one name in JSON's objects: what differs is a string. Source: Glue developer guide, built-in classifiers."""


def widen(old: LakeType, new: LakeType, rules: Rules) -> LakeType | None:
    """Return the smallest type that holds the values of both, ``old`` where both do; None if there is no such type."""
    if old == new or new.name == "void":
        return old
    if old.name == "void":
        return new
    result: LakeType | None = None
    match old, new:
        case Array(), Array():
            element = widen(old.element, new.element, rules)
            result = None if element is None else Array(element)
        case Map(), Map():
            key, value = widen(old.key, new.key, rules), widen(old.value, new.value, rules)
            result = None if key is None or value is None else Map(key, value)
        case Struct(), Struct():
            result = _by_name(old, new, rules) if rules.structs == "by name" else _by_position(old, new, rules)
        case Scalar(), Scalar():
            result = _scalar(old, new, rules)
    return rules.otherwise if result is None else result


def fits(source: LakeType, target: LakeType, rules: Rules) -> bool:
    """Return whether ``target`` holds all values of ``source``."""
    match source, target:
        case Scalar(name="void"), _:
            return True
        case Struct(), Struct() if rules.structs == "by position":
            return len(source.fields) == len(target.fields) and all(
                fits(one.type, other.type, rules) for one, other in zip(source.fields, target.fields, strict=True)
            )
        case (Array(), Array()) | (Map(), Map()):
            return all(fits(one, other, rules) for one, other in zip(source.inner, target.inner, strict=True))
    return widen(target, source, rules) == target


def _scalar(old: Scalar, new: Scalar, rules: Rules) -> Scalar | None:
    if "decimal" in (old.name, new.name):
        first, second = (_digits(type_, rules) for type_ in (old, new))
        if first is not None and second is not None:
            return _decimal(first, second, rules)
    if new.name in rules.wider.get(old.name, ()):
        return old
    return new if old.name in rules.wider.get(new.name, ()) else None


def _digits(type_: Scalar, rules: Rules) -> tuple[int, ...] | None:
    if type_.name == "decimal":
        return type_.numbers
    return (INTEGERS[type_.name], 0) if rules.integers_as_decimals and type_.name in INTEGERS else None


def _decimal(first: tuple[int, ...], second: tuple[int, ...], rules: Rules) -> Scalar | None:
    (precision, scale), (other_precision, other_scale) = first, second
    if rules.decimals == "equal" or (rules.decimals == "same scale" and scale != other_scale):
        return None
    widest = max(scale, other_scale)
    whole = max(precision - scale, other_precision - other_scale)
    return Scalar("decimal", (whole + widest, widest)) if whole + widest <= MAX_PRECISION else None


def _by_name(old: Struct, new: Struct, rules: Rules) -> Struct | None:
    fields = {field.name: field for field in old.fields}
    for field in new.fields:
        mine = fields.get(field.name)
        type_ = field.type if mine is None else widen(mine.type, field.type, rules)
        if type_ is None:
            return None
        fields[field.name] = field if mine is None else Field(field.name, type_, mine.nullable, mine.comment)
    return Struct(tuple(fields.values()))


def _by_position(old: Struct, new: Struct, rules: Rules) -> Struct | None:
    if len(old.fields) != len(new.fields):
        return None
    fields = []
    for mine, theirs in zip(old.fields, new.fields, strict=True):
        type_ = widen(mine.type, theirs.type, rules)
        if type_ is None:
            return None
        fields.append(Field(mine.name, type_, mine.nullable, mine.comment))
    return Struct(tuple(fields))

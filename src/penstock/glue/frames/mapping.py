"""ApplyMapping: fields at their targets, cast to the types that a mapping names.

As on AWS, a value whose own type is not the source type of its mapping is null. Unlike AWS, a warning names the field.
Source: https://github.com/awsdocs/aws-glue-developer-guide/issues/3.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as s

from penstock.errors import InvalidInput
from penstock.glue.frames.fields import Path, columns_of, field_type, find_path, place_column, quoted, split
from penstock.glue.schemas.choices import (
    SPARSE,
    WIDE,
    glue_type,
    has_choice,
    is_choice,
    is_sparse,
    leaf_name,
    member,
    plain,
    spark_type,
)
from penstock.glue.schemas.gluetypes import type_of_json

__all__ = ["MappingSpec", "applied_mapping", "cast_to", "mapping_spec", "named_type", "type_name"]

_log = logging.getLogger("awsglue")

_ALIASES: Mapping[str, str] = {"bool": "boolean", "enum": "string"}
_ATOMS = (
    *("binary", "boolean", "byte", "date", "double", "float", "int", "long", "null", "short", "string", "timestamp"),
    "decimal",
)
_NUMBERS = {"long", "double"}
_NESTED = ("struct", "array", "map")


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSpec:
    """One mapping; types are None where the mapping does not name them."""

    source: Path
    source_type: str | None
    target: Path
    target_type: str | None


def mapping_spec(mapping: Any) -> MappingSpec:
    """Return the mapping of a tuple: (source, target), with the target's type, or with both types.

    Raises :class:`InvalidInput` for anything else.
    """
    texts = isinstance(mapping, tuple | list) and all(isinstance(part, str) for part in mapping)
    if not texts or len(mapping) not in {2, 3, 4}:
        raise InvalidInput(
            f"{mapping!r} is not a mapping.", remedy="Write (source, source type, target, target type), all of them text."
        )
    if len(mapping) == 4:
        source, own, target, target_type = mapping
        return MappingSpec(source=split(source), source_type=own, target=split(target), target_type=target_type)
    source, target, *rest = mapping
    return MappingSpec(source=split(source), source_type=None, target=split(target), target_type=rest[0] if rest else None)


def type_name(text: str) -> str:
    """Return the name by which types are compared: ``bigint`` is ``long``, ``decimal(10,2)`` is ``decimal``."""
    base = text.strip().lower().split("(")[0].split("<")[0].strip()
    name = _ALIASES.get(base, base)
    return name if name in _ATOMS else leaf_name(name) or name


def applied_mapping(frame: DataFrame, specs: Sequence[MappingSpec], *, case_sensitive: bool) -> DataFrame:
    """Return the existing fields, each at its target and cast to its type."""
    tree: dict[str, object] = {}
    for spec in specs:
        path = find_path(frame.schema, spec.source, case_sensitive=case_sensitive)
        if path is not None:
            outer = frame.schema[path[0]]
            wide = WIDE.items() <= outer.metadata.items()
            column = _column(spec, path, field_type(frame.schema, path), wide=wide)
            if len(path) == 1 and is_sparse(outer):
                # A record still lacks the field, also if its type is another one now; only without one it stays WIDE.
                column = column.alias(path[0], metadata=dict(outer.metadata if spec.target_type is None else SPARSE))
            place_column(tree, spec.target, column)
    return frame.select(*columns_of(tree))


def _column(spec: MappingSpec, path: Path, own: s.DataType, *, wide: bool) -> Column:
    column = F.col(quoted(path))
    source_type = None if spec.source_type is None else type_name(spec.source_type)
    if wide and source_type == "int":
        # AWS may have found ints in this batch, and the next one has longs.
        source_type = "long"
    name = glue_type(own).typeName()
    if source_type in {None, "choice", name} or (wide and {source_type, name} <= _NUMBERS):
        return cast_to(column, own, spec.target_type)
    if is_choice(own):
        assert isinstance(own, s.StructType)
        if source_type in own.names:
            return cast_to(member(column, source_type), own[source_type].dataType, spec.target_type)
    elif isinstance(own, s.NullType):
        return cast_to(column, own, spec.target_type)
    _log.warning(
        "ApplyMapping: %s is %s and its mapping says %s, so %s is null, as on AWS.",
        quoted(path),
        glue_type(own).typeName(),
        spec.source_type,
        quoted(spec.target),
    )
    target = None if spec.target_type is None else named_type(spec.target_type)
    return F.lit(None).cast(target or s.StringType())


def cast_to(column: Column, own: s.DataType, target: str | None) -> Column:
    """Return ``column`` of type ``own`` cast to the type that ``target`` names; values that cannot be cast are null.

    Raises :class:`InvalidInput` for a name that is not a type, and for a nested type without its parts.
    """
    name = None if target is None else type_name(target)
    same = name in _NESTED and name == glue_type(own).typeName()
    if target is None or name == "choice" or (same and "<" not in target):
        return column
    if is_choice(own):
        assert isinstance(own, s.StructType)
        return F.coalesce(*(cast_to(member(column, field.name), field.dataType, target) for field in own.fields))
    target_type = named_type(target)
    if target_type is None:
        raise InvalidInput(
            f"A {glue_type(own).typeName()} cannot become a {target}.",
            remedy=f"Name its parts, such as {_EXAMPLES[type_name(target)]}.",
        )
    nested = isinstance(own, s.StructType | s.ArrayType | s.MapType)
    if nested and isinstance(target_type, s.StringType):
        return F.to_json(column.cast(plain(own)) if has_choice(own) else column)
    if nested != isinstance(target_type, s.StructType | s.ArrayType | s.MapType):
        return F.lit(None).cast(target_type)
    return column.try_cast(target_type)


_EXAMPLES = {"struct": "struct<name:string>", "array": "array<string>", "map": "map<string,string>"}


def named_type(text: str) -> s.DataType | None:
    """Return the type of a name of Glue's, None for a nested type without its parts. Raises :class:`InvalidInput`."""
    name = type_name(text)
    if "<" not in text and name in _NESTED:
        return None
    try:
        if "<" not in text and ("(" not in text or name != "decimal") and name in _ATOMS:
            return spark_type(type_of_json({"dataType": name}))
        return s.DataType.fromDDL(text if "(" in text or "<" in text else name)
    except ParseException as error:
        message = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        raise InvalidInput(
            f"{text!r} is not a type: {message}",
            remedy="Use one of Glue's, such as long or decimal(10,2).",
        ) from None

"""Casts of arrays, maps and rows: element by element, and fields by their position."""

from collections.abc import Callable

from sqlglot import exp

from penstock.sql.functions.build import as_type, engine_type, integer, is_null
from penstock.sql.functions.rows import call_engine
from penstock.sql.trino_types import Type

__all__ = ["cast_nested"]

Convert = Callable[[exp.Expr, Type | None, Type], exp.Expr]

_ORDER = ("tinyint", "smallint", "integer", "bigint")
_COUNTER = iter(range(1 << 62))


def cast_nested(value: exp.Expr, source: Type | None, target: Type, convert: Convert) -> exp.Expr:
    """Return ``value`` as the array, map or row ``target``; ``convert`` casts what is inside."""
    if source is None or _is_plain(source, target):
        return as_type(value, target)
    if target.name == "array":
        return _elements(value, source.inner[0], target.inner[0], convert)
    if target.name == "map":
        keys = _elements(call_engine("map_keys", value), source.inner[0], target.inner[0], convert)
        values = _elements(call_engine("map_values", value.copy()), source.inner[1], target.inner[1], convert)
        return call_engine("map_from_entries", call_engine("list_zip", keys, values))
    return _fields(value, source, target, convert)


def _is_plain(source: Type, target: Type) -> bool:
    """Return whether the engine's own cast does what Trino's does."""
    if source.name == target.name == "row":
        same_fields = len(source.inner) == len(target.inner) and (not any(source.fields) or source.fields == target.fields)
        return same_fields and all(map(_is_plain_inside, source.inner, target.inner))
    if source.inner:
        return source.name == target.name and all(map(_is_plain_inside, source.inner, target.inner))
    if source.name == "unknown" or source == target:
        return True
    if source.name in _ORDER and target.name in _ORDER:
        return _ORDER.index(source.name) <= _ORDER.index(target.name)
    return (source.name in _ORDER and target.name in {"real", "double"}) or (
        source.name == "varchar" and str(target) == "varchar"
    )


def _is_plain_inside(source: Type | None, target: Type | None) -> bool:
    return source is not None and target is not None and _is_plain(source, target)


def _elements(value: exp.Expr, source: Type | None, target: Type | None, convert: Convert) -> exp.Expr:
    if target is None:
        return value
    name = exp.to_identifier(f"trino_item_{next(_COUNTER)}")
    return call_engine("list_transform", value, exp.Lambda(this=convert(name, source, target), expressions=[name.copy()]))


def _fields(value: exp.Expr, source: Type, target: Type, convert: Convert) -> exp.Expr:
    fields: list[exp.Expr] = []
    for number, (type_, to) in enumerate(zip(source.inner, target.inner, strict=False), start=1):
        inner = call_engine("struct_extract_at", value.copy(), integer(number))
        fields.append(inner if to is None else convert(inner, type_, to))
    row = call_engine("row", *fields)
    engine = engine_type(target)
    absent = is_null(value)
    result = exp.Case(ifs=[exp.If(this=exp.Not(this=absent), true=row if engine is None else as_type(row, target))])
    return exp.Paren(this=result)

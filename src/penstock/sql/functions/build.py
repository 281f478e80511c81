"""Pieces of engine expressions that rows write: casts, literals, and the engine's name of a type."""

from functools import lru_cache

from sqlglot import exp

from penstock.sql.trino_types import SKETCHES, Type

__all__ = ["as_type", "cast_to", "engine_type", "integer", "is_null", "text"]

_NAMES = {"real": "FLOAT", "varbinary": "BLOB", "char": "VARCHAR", "ipaddress": "BLOB", "unknown": "INTEGER"}
_NAMES |= dict.fromkeys((type_.name for type_ in SKETCHES), "BLOB")
_NAMES |= {"Geometry": "BLOB", "SphericalGeography": "BLOB"}
_NAMES |= {"timestamp with time zone": "TIMESTAMPTZ", "time with time zone": "TIMETZ"}


def engine_type(type_: Type) -> str | None:
    """Return the engine's type for Trino's, None if a type inside it is not known or the engine has none."""
    if type_.inner:
        return _nested(type_)
    if type_.name == "decimal":
        return f"DECIMAL({type_.numbers[0]},{type_.numbers[1]})"
    return _NAMES.get(type_.name, type_.name.upper())


def _nested(type_: Type) -> str | None:
    inner = [engine_type(item) if item is not None else None for item in type_.inner]
    if None in inner:
        return None
    if type_.name == "array":
        return f"{inner[0]}[]"
    if type_.name == "map":
        return f"MAP({inner[0]}, {inner[1]})"
    names = [(name or f"field{at}").replace('"', '""') for at, name in enumerate(type_.fields)]
    fields = [f'"{name}" {item}' for name, item in zip(names, inner, strict=True)]
    return f"STRUCT({', '.join(fields)})"


def cast_to(value: exp.Expr, engine: str) -> exp.Expr:
    """Return the cast of ``value`` to a type in the engine's words."""
    return exp.Cast(this=value, to=_built(engine).copy())


def as_type(value: exp.Expr, type_: Type | None) -> exp.Expr:
    """Return the cast of ``value`` to the engine's type for ``type_``, ``value`` itself if that is not known."""
    engine = engine_type(type_) if type_ is not None else None
    return value if engine is None else cast_to(value, engine)


@lru_cache(maxsize=1_024)
def _built(engine: str) -> exp.DataType:
    return exp.DataType.build(engine, dialect="duckdb")


def integer(value: int) -> exp.Expr:
    """Return an integer literal."""
    return exp.Literal.number(value)


def text(value: str) -> exp.Expr:
    """Return a string literal."""
    return exp.Literal.string(value)


def is_null(value: exp.Expr) -> exp.Expr:
    """Return ``(value) IS NULL``, over a copy of ``value``."""
    return exp.Is(this=exp.paren(value.copy(), copy=False), expression=exp.Null())

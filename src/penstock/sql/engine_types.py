"""The engine's types as Trino's and as Hive's: what a query's columns are in a view, and in a table made of them."""

from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.kinds import SKETCHES, Type
from penstock.sql.types import ZONED_FIELDS
from penstock.types.model import LakeType, Struct

__all__ = ["engine_type", "hive_text", "trino_text", "type_of_engine", "type_of_text"]

_NAMES = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "integer": "integer",
    "bigint": "bigint",
    "utinyint": "smallint",
    "usmallint": "integer",
    "uinteger": "bigint",
    "ubigint": "bigint",
    "hugeint": "bigint",
    "uhugeint": "bigint",
    "float": "real",
    "double": "double",
    "varchar": "varchar",
    "date": "date",
    "blob": "varbinary",
    "uuid": "uuid",
    "interval": "interval day to second",
}
_TIMES = {
    "time": "time",
    "timestamp": "timestamp",
    "timestamp_s": "timestamp",
    "timestamp_ms": "timestamp",
    "timestamp_ns": "timestamp",
    "timestamp with time zone": "timestamp with time zone",
}
_HIVE = {"integer": "int", "real": "float", "varbinary": "binary"}
_HIVE |= dict.fromkeys((kind.name for kind in SKETCHES), "binary")
_TRINO = {
    "int": "integer",
    "float": "real",
    "string": "varchar",
    "binary": "varbinary",
    "timestamp": "timestamp(3)",
    "timestamptz": "timestamp(3) with time zone",
    "void": "unknown",
}
_AS_IN_HIVE = frozenset({"boolean", "tinyint", "smallint", "bigint", "double", "date"})
# What Hive has no type for is a string in the catalog; a view's own text keeps Trino's type.
_STRING = "string"


def type_of_engine(kind: Any) -> Type:
    """Return Trino's type for DuckDB's type ``kind`` (a DuckDBPyType)."""
    found = Type(_NAMES.get(kind.id, "unknown"))
    if str(kind) == "JSON":
        found = Type("json")
    elif kind.id in _TIMES:
        found = Type(_TIMES[kind.id], (3,))
    elif kind.id == "decimal":
        found = Type("decimal", tuple(int(value) for _, value in kind.children))
    elif kind.id in {"list", "array"}:
        found = Type.array(type_of_engine(kind.children[0][1]))
    elif kind.id == "map":
        found = Type.map(*(type_of_engine(each) for _, each in kind.children))
    elif kind.id == "struct":
        zoned = [field for field, _ in kind.children] == ZONED_FIELDS
        zone = Type("timestamp with time zone", (3,))
        found = zone if zoned else Type.row((field, type_of_engine(each)) for field, each in kind.children)
    return found


def type_of_text(text: str) -> Type | None:
    """Return the type that ``text`` is in Trino's words, None if it is not one that is known."""
    sketch = next((kind for kind in SKETCHES if str(kind) == text), None)  # sqlglot does not know all of them
    node = _parsed(text) if sketch is None else None
    return Type.of(node) if node is not None else sketch


def engine_type(text: str) -> str | None:
    """Return DuckDB's type for Trino's type ``text``, None if there is none."""
    node = _parsed(text)
    return node.sql("duckdb") if node is not None else None


def hive_text(kind: Type | None) -> str:
    """Return the type as the catalog spells it: Hive's, and ``string`` for what Hive has no type for."""
    inner = [hive_text(each) for each in kind.inner] if kind is not None else []
    if kind is None:
        text = _STRING
    elif kind.name in {"array", "map"}:
        text = f"{kind.name}<{','.join(inner)}>"
    elif kind.name == "row":
        names = [name or f"field{at}" for at, name in enumerate(kind.fields)]
        text = f"struct<{','.join(f'{name}:{each}' for name, each in zip(names, inner, strict=True))}>"
    elif kind.name == "timestamp":
        text = "timestamp"
    elif kind.name in {"decimal", "varchar", "char"} and kind.numbers:
        text = f"{kind.name}({','.join(map(str, kind.numbers))})"
    else:
        text = kind.name if kind.name in _AS_IN_HIVE else _HIVE.get(kind.name, _STRING)
    return text


def trino_text(hive: str) -> str:
    """Return Trino's words for the catalog's type ``hive``; one that cannot be read stays as it is."""
    try:
        return _in_trino(parse_hive_type(hive))
    except StatementError:
        return hive


def _in_trino(kind: LakeType) -> str:
    inner = [_in_trino(each) for each in kind.inner]
    if isinstance(kind, Struct):
        return f"row({', '.join(f'{field.name} {each}' for field, each in zip(kind.fields, inner, strict=True))})"
    if inner:
        return f"{kind.name}({', '.join(inner)})"
    if kind.numbers:
        return f"{kind.name}({','.join(map(str, kind.numbers))})"
    return _TRINO.get(kind.name, kind.name)


def _parsed(text: str) -> exp.DataType | None:
    try:
        return exp.DataType.build(text, dialect="trino")
    except (SqlglotError, ValueError, RecursionError):
        return None

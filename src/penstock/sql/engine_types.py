"""The engine's types as Trino's and as Hive's: what a query's columns are in a view, and in a table made of them."""

from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.sql.errors import StatementError
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.trino_types import JSON, SKETCHES, UNKNOWN, Type
from penstock.sql.types import ZONED_FIELDS
from penstock.statements.model import ResultColumn
from penstock.types import duckdb, hive
from penstock.types.model import STRING, Array, Field, LakeType, Map, Scalar, Struct
from penstock.types.trino import lake_scalar

__all__ = ["engine_type", "hive_text", "lake_type", "result_column", "trino_text", "type_of_engine", "type_of_text"]

_OTHERS = {"interval": Type("interval day to second")}
"""By DuckDB's id, what Trino has and the lake lacks."""
_ATHENA = {"real": "float"}
_DIGITS = {
    **{"boolean": 0, "tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19, "real": 17, "double": 17},
    **{"varchar": 2147483647, "varbinary": 1073741824, "date": 0, "array": 0, "map": 0, "row": 0},
    **{"time": 3, "timestamp": 3, "timestamp with time zone": 3, "interval day to second": 0, "json": 0},
}
"""The precision in Athena's description of a column, by its type's name; another type is described as a varchar."""
_NAMED_AS_IN_TRINO = {"json", "ipaddress", "Geometry", "SphericalGeography"}


def type_of_engine(native: Any) -> Type:
    """Return Trino's type for DuckDB's type ``native`` (a DuckDBPyType)."""
    scalar = duckdb.lake_scalar(native.id)
    result = _OTHERS.get(native.id, UNKNOWN) if scalar is None else Type.of_lake(scalar)
    if str(native) == "JSON":
        result = JSON
    elif native.id == "decimal":
        result = Type("decimal", tuple(int(value) for _, value in native.children))
    elif native.id in {"list", "array"}:
        result = Type.array(type_of_engine(native.children[0][1]))
    elif native.id == "map":
        result = Type.map(*(type_of_engine(item) for _, item in native.children))
    elif native.id == "struct":
        zoned = [field for field, _ in native.children] == ZONED_FIELDS
        zone = Type("timestamp with time zone", (3,))
        result = zone if zoned else Type.row((field, type_of_engine(item)) for field, item in native.children)
    return result


def result_column(name: str, native: Any, trino_type: Type | None = None) -> ResultColumn:
    """Return Athena's description of a column of DuckDB's type ``native`` (a DuckDBPyType), and Trino's, if ``trino_type``.

    Athena's names and precisions: what GetQueryResults returns.
    """
    if trino_type is not None and (trino_type in SKETCHES or trino_type.name in _NAMED_AS_IN_TRINO):
        return ResultColumn(
            name=name, type=trino_type.name if trino_type in SKETCHES else trino_type.name.lower(), precision=0
        )
    if trino_type is not None and trino_type.is_text and trino_type.numbers:
        return ResultColumn(name=name, type=trino_type.name, precision=trino_type.numbers[0])
    type_ = type_of_engine(native)
    if type_.name == "decimal":
        precision, scale = type_.numbers
        return ResultColumn(name=name, type="decimal", precision=precision, scale=scale)
    shown = type_.name if type_.name in _DIGITS else "varchar"
    return ResultColumn(name=name, type=_ATHENA.get(shown, shown), precision=_DIGITS[shown])


def type_of_text(text: str) -> Type | None:
    """Return the type that ``text`` is in Trino's words, None if it is not one that is known."""
    # sqlglot does not know all sketches.
    sketch = next((type_ for type_ in SKETCHES if str(type_) == text), None)
    node = _parsed(text) if sketch is None else None
    return Type.of(node) if node is not None else sketch


def engine_type(text: str) -> str | None:
    """Return DuckDB's type for Trino's type ``text``, None if there is none."""
    node = _parsed(text)
    return node.sql("duckdb") if node is not None else None


def hive_text(type_: Type | None) -> str:
    """Return the type as the catalog spells it: Hive's, and ``string`` for what Hive has no type for.

    A view's own text keeps Trino's type.
    """
    return hive.render(lake_type(type_))


def lake_type(type_: Type | None) -> LakeType:
    """Return the type of a Hive table's column with values of ``type_``, ``string`` for what Hive has no type for."""
    if type_ is None:
        return STRING
    inner = [lake_type(item) for item in type_.inner]
    match type_.name:
        case "array":
            return Array(inner[0])
        case "map":
            return Map(inner[0], inner[1])
        case "row":
            names = [name or f"field{at}" for at, name in enumerate(type_.fields)]
            return Struct(tuple(map(Field, names, inner)))
        case name:
            return Scalar("binary") if type_ in SKETCHES else lake_scalar(name, type_.numbers)


def trino_text(text: str) -> str:
    """Return Trino's words for the catalog's type ``text``; one that cannot be read stays as it is."""
    try:
        return str(Type.of_lake(parse_hive_type(text)))
    except StatementError:
        return text


def _parsed(text: str) -> exp.DataType | None:
    try:
        return exp.DataType.build(text, dialect="trino")
    except (SqlglotError, ValueError, RecursionError):
        return None

"""DuckDB's types, as its SQL spells them. Source: DuckDB documentation, "Data Types"."""

from penstock.types.model import LakeType, Scalar, Struct, TypeMissing, fold, scalar_of

__all__ = ["NULL", "lake_scalar", "render"]

NULL = '"NULL"'
"""The type of columns whose values are all NULL."""
_MAX_DIGITS = 6
_DUCKDB = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "varchar": "VARCHAR",
    "char": "VARCHAR",
    "uuid": "UUID",
    "binary": "BLOB",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "void": NULL,
}
_LAKE = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "smallint": "smallint",
    "integer": "int",
    "bigint": "bigint",
    "utinyint": "smallint",
    "usmallint": "int",
    "uinteger": "bigint",
    **dict.fromkeys(("ubigint", "hugeint", "uhugeint"), "bigint"),  # sums, which Trino has as bigint
    "float": "float",
    "double": "double",
    "varchar": "string",
    "blob": "binary",
    "uuid": "uuid",
    "date": "date",
    "time": "time",
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), "timestamp"),
    "timestamp with time zone": "timestamptz",
}


def lake_scalar(name: str) -> Scalar | None:
    """Return the scalar for the ``id`` of a DuckDBPyType, None for one that the lake lacks."""
    return Scalar(_LAKE[name]) if name in _LAKE else None


def render(type_: LakeType) -> str:
    """Return DuckDB's type, in which texts have no length. Raises :class:`TypeMissing` if DuckDB has none."""
    return fold(type_, scalar=_scalar, array="{}[]".format, mapping="MAP({}, {})".format, struct=_struct)


def _scalar(type_: Scalar) -> str:
    if type_.name == "decimal":
        return "DECIMAL({},{})".format(*type_.numbers)
    if type_.numbers > (_MAX_DIGITS,) and type_.name.startswith("time"):
        raise TypeMissing(f"DuckDB's times have {_MAX_DIGITS} digits, {type_.name}({type_.numbers[0]}) has more.")
    name: str = scalar_of(_DUCKDB, type_, "DuckDB")
    return name


def _struct(type_: Struct, types: tuple[str, ...]) -> str:
    names = ['"' + field.name.replace('"', '""') + '"' for field in type_.fields]
    return f"STRUCT({', '.join(map(' '.join, zip(names, types, strict=True)))})"

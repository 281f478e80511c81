"""Names of Trino's types, and so of Athena's. Source: Trino documentation, "Data types", "Hive connector".

The types themselves are values of :mod:`penstock.sql.trino_types`, which has more of them than the lake.
"""

from penstock.types.model import STRING, Scalar

__all__ = ["lake_scalar", "trino_name"]

_TRINO: dict[str, tuple[str, tuple[int, ...]]] = {
    "int": ("integer", ()),
    "float": ("real", ()),
    "string": ("varchar", ()),
    "binary": ("varbinary", ()),
    "time": ("time", (3,)),
    "timestamp": ("timestamp", (3,)),
    "timestamp_ntz": ("timestamp", (3,)),
    "timestamptz": ("timestamp with time zone", (3,)),
    "void": ("unknown", ()),
    "geometry": ("Geometry", ()),
    "geography": ("SphericalGeography", ()),
}
"""What has another name than in the lake, with the digits that it has if none are given."""
_AS_IN_LAKE = frozenset({"boolean", "tinyint", "smallint", "bigint", "double", "date", "decimal", "varchar", "char"})
_IN_HIVE = {"integer": "int", "real": "float", "varbinary": "binary", "timestamp": "timestamp"}


def trino_name(type_: Scalar) -> tuple[str, tuple[int, ...]]:
    """Return Trino's name of a scalar, and its numbers."""
    name, numbers = _TRINO.get(type_.name, (type_.name, ()))
    return name, type_.numbers or numbers


def lake_scalar(name: str, numbers: tuple[int, ...]) -> Scalar:
    """Return the type of a Hive table's column for a scalar of Trino; a string where Hive has none."""
    if name in _AS_IN_LAKE:
        is_text = name in {"varchar", "char"}
        return Scalar(name, numbers) if numbers or not is_text else STRING
    return Scalar(_IN_HIVE[name]) if name in _IN_HIVE else STRING

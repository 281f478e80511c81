"""Types: Hive's in the catalog, DuckDB's for reading, Athena's in the description of results.

Hive's grammar: Apache Hive language manual, "Types". Athena's names and precisions: what GetQueryResults returns.
"""

import re
from typing import Any

from penstock.query.errors import StatementError
from penstock.statements.model import ResultColumn

__all__ = ["ZONED_FIELDS", "duckdb_type", "quote_name", "quote_text", "result_column"]

_MAX_LENGTH = 131_072  # Glue's limit for a column's type
_MAX_DEPTH = 60
_PRIMITIVES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "double precision": "DOUBLE",
    "string": "VARCHAR",
    "varchar": "VARCHAR",
    "char": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp with local time zone": "TIMESTAMPTZ",
    "timestamptz": "TIMESTAMPTZ",
}
_PRIMITIVE = re.compile(r"([a-z][a-z ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(?=[,>]|$)", re.IGNORECASE)
_COMPLEX = re.compile(r"(array|map|struct)\s*<\s*", re.IGNORECASE)
_SPACE = re.compile(r"\s*")

# DuckDB's type id -> (Athena's name, precision).
_ATHENA = {
    "boolean": ("boolean", 0),
    "tinyint": ("tinyint", 3),
    "smallint": ("smallint", 5),
    "integer": ("integer", 10),
    "bigint": ("bigint", 19),
    "utinyint": ("smallint", 5),
    "usmallint": ("integer", 10),
    "uinteger": ("bigint", 19),
    "ubigint": ("bigint", 19),
    "hugeint": ("bigint", 19),
    "uhugeint": ("bigint", 19),
    "float": ("float", 17),
    "double": ("double", 17),
    "varchar": ("varchar", 2147483647),
    "date": ("date", 0),
    "time": ("time", 3),
    "timestamp": ("timestamp", 3),
    "timestamp_s": ("timestamp", 3),
    "timestamp_ms": ("timestamp", 3),
    "timestamp_ns": ("timestamp", 3),
    "timestamp with time zone": ("timestamp with time zone", 3),
    "blob": ("varbinary", 1073741824),
    "list": ("array", 0),
    "array": ("array", 0),
    "map": ("map", 0),
    "struct": ("row", 0),
    "interval": ("interval day to second", 0),
}


def quote_name(name: str) -> str:
    """Return ``name`` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return ``text`` as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def duckdb_type(hive: str) -> str:
    """Return DuckDB's type for a Hive type string. Raises :class:`StatementError` if the type cannot be read.

    ``char`` and ``varchar`` lose their length, as they do when Athena reads Parquet.
    """
    if len(hive) > _MAX_LENGTH:
        raise StatementError(
            "HIVE_INVALID_METADATA", f"A column's type is {len(hive)} characters long; the limit is {_MAX_LENGTH}."
        )
    text = hive.strip()
    reader = _HiveReader(text)
    result = reader.read(0)
    if reader.at != len(text):
        raise reader.wrong("the end")
    return result


class _HiveReader:
    """A cursor over one Hive type string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise StatementError("HIVE_INVALID_METADATA", f"A type nests deeper than {_MAX_DEPTH} levels.")
        match = _COMPLEX.match(self.text, self.at)
        if match is None:
            return self._primitive()
        self.at = match.end()
        kind = match[1].lower()
        if kind == "array":
            result = f"{self.read(depth + 1)}[]"
        elif kind == "map":
            key = self.read(depth + 1)
            self._expect(",")
            result = f"MAP({key}, {self.read(depth + 1)})"
        else:
            result = f"STRUCT({', '.join(self._fields(depth))})"
        self._expect(">")
        return result

    def _fields(self, depth: int) -> list[str]:
        fields = []
        while True:
            colon = self.text.find(":", self.at)
            name = self.text[self.at : colon].strip().strip("`") if colon > 0 else ""
            if not name:
                raise self.wrong("a field's name and a colon")
            self.at = _SPACE.match(self.text, colon + 1).end()  # type: ignore[union-attr]
            fields.append(f"{quote_name(name)} {self.read(depth + 1)}")
            if self.text[self.at : self.at + 1] != ",":
                return fields
            self._expect(",")

    def _primitive(self) -> str:
        match = _PRIMITIVE.match(self.text, self.at)
        if match is None:
            raise self.wrong("a type")
        name = " ".join(match[1].lower().split())
        if name in {"decimal", "numeric", "dec"}:
            precision, scale = int(match[2] or 10), int(match[3] or 0)
            if not (1 <= precision <= 38 and scale <= precision):
                raise self.wrong("a decimal of 1 to 38 digits")
            result = f"DECIMAL({precision},{scale})"
        elif name in _PRIMITIVES:
            result = _PRIMITIVES[name]
        else:
            raise self.wrong("a type that can be read from Parquet")
        self.at = match.end()
        return result

    def _expect(self, mark: str) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        if self.text[self.at : self.at + 1] != mark:
            raise self.wrong(f"'{mark}'")
        self.at = _SPACE.match(self.text, self.at + 1).end()  # type: ignore[union-attr]

    def wrong(self, expected: str) -> StatementError:
        return StatementError(
            "HIVE_INVALID_METADATA",
            f"The type '{self.text[:200]}' cannot be read: expected {expected} at character {self.at + 1}.",
            remedy="Correct the column's type in the catalog.",
        )


ZONED_FIELDS = ["$utc", "$zone"]
"""Fields of the struct that stands for a timestamp in a zone which is not UTC (``functions.times.zones``)."""


def result_column(name: str, kind: Any) -> ResultColumn:
    """Return Athena's description of a column of DuckDB's type ``kind`` (a DuckDBPyType)."""
    if kind.id == "decimal":
        precision, scale = (int(value) for _, value in kind.children)
        return ResultColumn(name=name, type="decimal", precision=precision, scale=scale)
    if kind.id == "struct" and [field for field, _ in kind.children] == ZONED_FIELDS:
        return ResultColumn(name=name, type="timestamp with time zone", precision=3)
    if str(kind) == "JSON":
        return ResultColumn(name=name, type="json", precision=0)
    type_name, precision = _ATHENA.get(kind.id, ("varchar", 2147483647))
    return ResultColumn(name=name, type=type_name, precision=precision)

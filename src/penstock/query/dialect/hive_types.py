"""Hive's types, as the catalog spells them, as values.

Grammar: Apache Hive language manual, "Types".
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from penstock.query.errors import StatementError

__all__ = ["HiveType", "parse_hive_type"]

_MAX_LENGTH = 131_072  # Glue's limit for a column's type
_MAX_DEPTH = 60
_SYNONYMS = {
    "integer": "int",
    "real": "float",
    "double precision": "double",
    "numeric": "decimal",
    "dec": "decimal",
    "timestamp with local time zone": "timestamptz",
}
_SIMPLE = frozenset(
    {
        *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "varchar", "char"),
        *("binary", "date", "timestamp", "timestamptz"),
    }
)
_PRIMITIVE = re.compile(r"([a-z][a-z ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(?=[,>]|$)", re.IGNORECASE)
_COMPLEX = re.compile(r"(array|map|struct)\s*<\s*", re.IGNORECASE)
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class HiveType:
    """A type: its ``name`` in lower case without synonyms, ``numbers`` (a length, or precision and scale), inner types."""

    name: str
    numbers: tuple[int, ...] = ()
    inner: tuple["HiveType", ...] = ()
    """Of an array its elements' type, of a map those of keys and values, of a struct its fields' types."""
    fields: tuple[str, ...] = ()
    """The names of a struct's fields."""


@lru_cache(maxsize=4_096)
def parse_hive_type(text: str) -> HiveType:
    """Return the type that ``text`` spells. Raises :class:`StatementError` if it cannot be read."""
    if len(text) > _MAX_LENGTH:
        raise StatementError(
            "HIVE_INVALID_METADATA", f"A column's type is {len(text)} characters long; the limit is {_MAX_LENGTH}."
        )
    reader = _Reader(text.strip())
    result = reader.read(0)
    if reader.at != len(reader.text):
        raise reader.wrong("the end")
    return result


class _Reader:
    """A cursor over one type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self, depth: int) -> HiveType:
        if depth > _MAX_DEPTH:
            raise StatementError("HIVE_INVALID_METADATA", f"A type nests deeper than {_MAX_DEPTH} levels.")
        match = _COMPLEX.match(self.text, self.at)
        if match is None:
            return self._primitive()
        self.at = match.end()
        kind = match[1].lower()
        if kind == "array":
            result = HiveType(kind, inner=(self.read(depth + 1),))
        elif kind == "map":
            key = self.read(depth + 1)
            self._expect(",")
            result = HiveType(kind, inner=(key, self.read(depth + 1)))
        else:
            result = self._struct(depth)
        self._expect(">")
        return result

    def _struct(self, depth: int) -> HiveType:
        names: list[str] = []
        kinds: list[HiveType] = []
        while True:
            colon = self.text.find(":", self.at)
            name = self.text[self.at : colon].strip().strip("`") if colon > 0 else ""
            if not name:
                raise self.wrong("a field's name and a colon")
            self.at = _SPACE.match(self.text, colon + 1).end()  # type: ignore[union-attr]
            names.append(name)
            kinds.append(self.read(depth + 1))
            if self.text[self.at : self.at + 1] != ",":
                return HiveType("struct", inner=tuple(kinds), fields=tuple(names))
            self._expect(",")

    def _primitive(self) -> HiveType:
        match = _PRIMITIVE.match(self.text, self.at)
        if match is None:
            raise self.wrong("a type")
        name = " ".join(match[1].lower().split())
        name = _SYNONYMS.get(name, name)
        if name not in _SIMPLE:
            raise self.wrong("a type of Hive")
        numbers = tuple(int(each) for each in match.groups()[1:] if each)
        if name == "decimal":
            precision, scale = (*numbers, 10, 0)[:2] if not numbers else (*numbers, 0)[:2]
            if not (1 <= precision <= 38 and scale <= precision):
                raise self.wrong("a decimal of 1 to 38 digits")
            numbers = (precision, scale)
        self.at = match.end()
        return HiveType(name, numbers)

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

"""Hive's types, as the catalog spells them, as values: one reader for all parts that read a table's columns.

Grammar: Apache Hive language manual, "Types". Beside Hive's names it reads those that writers of Glue's catalog use for the
same types: Spark's (``timestamp_ntz``, ``void``), Iceberg's GlueCatalog's (``unknown``, ``timestamp_nano``) and Glue's
``long``.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from penstock.errors import DataProblem

__all__ = ["SYNONYMS", "HiveType", "TypeUnreadable", "canonical_type", "parse_type", "type_text"]

_MAX_LENGTH = 131_072  # Glue's limit for a column's type
_MAX_DEPTH = 60
_MAX_PRECISION = 38
SYNONYMS = {
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "double precision": "double",
    "numeric": "decimal",
    "dec": "decimal",
    "timestamp with local time zone": "timestamptz",
    "timestamp_ltz": "timestamptz",
    "timestamp without time zone": "timestamp",
    "timestamp_nano": "timestamp",
    "null": "void",
    "unknown": "void",
}
"""Other names of types, by the name that :class:`HiveType` has."""
_SPELT = {"timestamptz": "timestamp with local time zone"}
_SIMPLE = frozenset(
    {
        *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "varchar", "char"),
        *("binary", "date", "timestamp", "timestamptz", "timestamp_ntz", "void"),
    }
)
_WORD = re.compile(r"([a-z][a-z_ ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(?=[<,>]|$)", re.IGNORECASE)
_FIELD = re.compile(r"(?:`((?:[^`]|``)*)`|([^:,<>`]+?))\s*:\s*")
_SPACE = re.compile(r"\s*")
_PLAIN_NAME = re.compile(r"[^:,<>`\s]+(?: +[^:,<>`\s]+)*")


class TypeUnreadable(DataProblem):
    """A text is not a type of Hive."""


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
def parse_type(text: str) -> HiveType:
    """Return the type that ``text`` spells. Raises :class:`TypeUnreadable` if it cannot be read."""
    if len(text) > _MAX_LENGTH:
        raise TypeUnreadable(f"A column's type is {len(text)} characters long; the limit is {_MAX_LENGTH}.")
    reader = _Reader(text.strip())
    result = reader.read(0)
    if reader.at != len(reader.text):
        raise reader.wrong("the end")
    return result


def type_text(kind: HiveType) -> str:
    """Return the type as the catalog spells it; a name of a field that has a mark of the grammar is quoted."""
    inner = [type_text(each) for each in kind.inner]
    if kind.name == "struct":
        return f"struct<{','.join(f'{_name(name)}:{each}' for name, each in zip(kind.fields, inner, strict=True))}>"
    if inner:
        return f"{kind.name}<{','.join(inner)}>"
    name = _SPELT.get(kind.name, kind.name)
    return f"{name}({','.join(map(str, kind.numbers))})" if kind.numbers else name


def canonical_type(text: str) -> str:
    """Return ``text`` with Hive's own name for each type in it; a text that cannot be read stays as it is."""
    try:
        return type_text(parse_type(text))
    except TypeUnreadable:
        return text


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


class _Reader:
    """A cursor over one type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self, depth: int) -> HiveType:
        if depth > _MAX_DEPTH:
            raise TypeUnreadable(f"A type nests deeper than {_MAX_DEPTH} levels.")
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self.wrong("a type")
        name = " ".join(match[1].lower().split())
        if self.text[match.end() : match.end() + 1] == "<":
            return self._nested(name, match.end(), depth)
        return self._primitive(name, match)

    def _nested(self, name: str, at: int, depth: int) -> HiveType:
        if name not in {"array", "map", "struct"}:
            raise self.wrong("a type of Hive")
        self.at = at
        self._expect("<")
        if name == "array":
            result = HiveType(name, inner=(self.read(depth + 1),))
        elif name == "map":
            key = self.read(depth + 1)
            self._expect(",")
            result = HiveType(name, inner=(key, self.read(depth + 1)))
        else:
            result = self._struct(depth)
        self._expect(">")
        return result

    def _struct(self, depth: int) -> HiveType:
        names: list[str] = []
        kinds: list[HiveType] = []
        while True:
            field = _FIELD.match(self.text, self.at)
            if field is None:
                raise self.wrong("a field's name and a colon")
            self.at = field.end()
            names.append(field[2] if field[1] is None else field[1].replace("``", "`"))
            kinds.append(self.read(depth + 1))
            if self.text[self.at : self.at + 1] != ",":
                return HiveType("struct", inner=tuple(kinds), fields=tuple(names))
            self._expect(",")

    def _primitive(self, name: str, match: re.Match[str]) -> HiveType:
        name = SYNONYMS.get(name, name)
        if name not in _SIMPLE:
            raise self.wrong("a type of Hive")
        numbers = tuple(int(each) for each in match.groups()[1:] if each)
        if name == "decimal":
            precision, scale = (*numbers, 10, 0)[:2] if not numbers else (*numbers, 0)[:2]
            if not (1 <= precision <= _MAX_PRECISION and scale <= precision):
                raise self.wrong("a decimal of 1 to 38 digits")
            numbers = (precision, scale)
        self.at = match.end()
        return HiveType(name, numbers)

    def _expect(self, mark: str) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        if self.text[self.at : self.at + 1] != mark:
            raise self.wrong(f"'{mark}'")
        self.at = _SPACE.match(self.text, self.at + 1).end()  # type: ignore[union-attr]

    def wrong(self, expected: str) -> TypeUnreadable:
        return TypeUnreadable(
            f"The type '{self.text[:200]}' cannot be read: expected {expected} at character {self.at + 1}.",
            remedy="Correct the column's type in the catalog.",
        )

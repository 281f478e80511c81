"""The types' texts in the catalog: Hive's, as Glue keeps them; one reader and one writer for all parts.

Grammar: Apache Hive language manual, "Types". Beside Hive's names it reads those that writers of Glue's catalog use for the
same types: Spark's (``timestamp_ntz``, ``void``), Iceberg's GlueCatalog's (``unknown``, ``timestamp_nano``) and Glue's
``long``, ``short`` and ``byte``; and those of the lake's types that Hive lacks (``uuid``, ``time``).
"""

import re
from functools import lru_cache

from penstock.errors import DataProblem
from penstock.types.model import (
    MAX_DEPTH,
    MAX_PRECISION,
    SCALARS,
    Array,
    Field,
    LakeType,
    Map,
    Scalar,
    Struct,
    replace_scalars,
)

__all__ = ["MAX_LENGTH", "SYNONYMS", "TypeTooLong", "TypeUnreadable", "canonical", "name_of", "parse", "render", "stored"]

MAX_LENGTH = 131_072
"""Glue's limit for a column's type, in characters."""
SYNONYMS = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
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
"""Other names of types, by the name that the lake has."""
_SPELT = {"timestamptz": "timestamp{} with local time zone"}
_ZONED = " with local time zone"
_WORD = re.compile(
    r"([a-z][a-z_ ]*?)\s*(?:\(\s*(\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?\)(\s+with\s+local\s+time\s+zone)?)?\s*(?=[<,>]|$)",
    re.IGNORECASE,
)
_FIELD = re.compile(r"(?:`((?:[^`]|``)*)`|([^:,<>`]+?))\s*:\s*")
_SPACE = re.compile(r"\s*")
_PLAIN_NAME = re.compile(r"[^:,<>`\s]+(?: +[^:,<>`\s]+)*")


class TypeUnreadable(DataProblem):
    """A text is not a type of the catalog."""


class TypeTooLong(DataProblem):
    """A type's text is longer than the catalog holds."""


@lru_cache(maxsize=4_096)
def parse(text: str) -> LakeType:
    """Return the type that ``text`` spells. Raises :class:`TypeUnreadable` if it cannot be read."""
    if len(text) > MAX_LENGTH:
        raise TypeUnreadable(f"A column's type is {len(text)} characters long; the limit is {MAX_LENGTH}.")
    reader = _Reader(text.strip())
    result = reader.read(0)
    if reader.at != len(reader.text):
        raise reader.unreadable("the end")
    return result


def render(type_: LakeType) -> str:
    """Return the type as the catalog spells it; a name of a field that has a mark of the grammar is quoted.

    A type that is in ``type_`` many times, as the same object, is rendered once. Raises :class:`TypeTooLong`.
    """
    return _Writer().text(type_, 0)[0]


def stored(type_: LakeType) -> str:
    """Return the text for a column of files: a timestamp that never has a zone is ``timestamp``, as catalogs have it."""
    return render(replace_scalars(type_, _stored))


def _stored(type_: Scalar) -> Scalar:
    return Scalar("timestamp", type_.numbers) if type_.name == "timestamp_ntz" else type_


def canonical(text: str) -> str:
    """Return ``text`` with the lake's own name for each type in it; a text that cannot be read stays as it is."""
    try:
        return render(parse(text))
    except TypeUnreadable:
        return text


def name_of(text: str) -> str:
    """Return the lake's name of the outermost type in ``text``; a text that cannot be read stays as it is."""
    try:
        return parse(text).name
    except TypeUnreadable:
        return text


class _Writer:
    """Writes one type; ``texts`` has the texts of the types in it, and how many levels each has, by their ids."""

    def __init__(self) -> None:
        self.texts: dict[int, tuple[str, int]] = {}

    def text(self, type_: LakeType, depth: int) -> tuple[str, int]:
        written = self.texts.get(id(type_))
        if depth + (written[1] if written is not None else 0) > MAX_DEPTH:
            raise TypeTooLong(f"A column's type nests deeper than {MAX_DEPTH} levels.")
        if written is None:
            written = self.texts[id(type_)] = self._written(type_, depth + 1)
        return written

    def _written(self, type_: LakeType, depth: int) -> tuple[str, int]:
        if isinstance(type_, Scalar):
            numbers = f"({','.join(map(str, type_.numbers))})" if type_.numbers else ""
            return _SPELT.get(type_.name, f"{type_.name}{{}}").format(numbers), 0
        parts: list[str] = []
        size = levels = 0
        for at, part in enumerate(type_.inner):
            text, inside = self.text(part, depth)
            parts.append(f"{_name(type_.fields[at].name)}:{text}" if isinstance(type_, Struct) else text)
            size, levels = size + len(parts[-1]) + 1, max(levels, inside)
            if size > MAX_LENGTH:
                raise TypeTooLong(f"A column's type has {size} characters or more; the catalog holds {MAX_LENGTH}.")
        return f"{type_.name}<{','.join(parts)}>", levels + 1


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


class _Reader:
    """A cursor over one type."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self, depth: int) -> LakeType:
        if depth > MAX_DEPTH:
            raise TypeUnreadable(f"A type nests deeper than {MAX_DEPTH} levels.")
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self.unreadable("a type")
        name = " ".join(match[1].lower().split())
        if self.text[match.end() : match.end() + 1] == "<":
            return self._nested(name, match.end(), depth)
        return self._scalar(name, match)

    def _nested(self, name: str, at: int, depth: int) -> LakeType:
        if name not in {"array", "map", "struct"}:
            raise self.unreadable("a type of Hive")
        self.at = at
        self._expect("<")
        result: LakeType
        if name == "array":
            result = Array(self.read(depth + 1))
        elif name == "map":
            key = self.read(depth + 1)
            self._expect(",")
            result = Map(key, self.read(depth + 1))
        else:
            result = self._struct(depth)
        self._expect(">")
        return result

    def _struct(self, depth: int) -> LakeType:
        fields: list[Field] = []
        while True:
            field = _FIELD.match(self.text, self.at)
            if field is None:
                raise self.unreadable("a field's name and a colon")
            self.at = field.end()
            name = field[2] if field[1] is None else field[1].replace("``", "`")
            fields.append(Field(name, self.read(depth + 1)))
            if self.text[self.at : self.at + 1] != ",":
                return Struct(tuple(fields))
            self._expect(",")

    def _scalar(self, name: str, match: re.Match[str]) -> LakeType:
        name = SYNONYMS.get(f"{name}{_ZONED}" if match[4] else name, name)
        if name not in SCALARS or (match[4] and name != "timestamptz"):
            raise self.unreadable("a type of Hive")
        numbers = tuple(int(group) for group in match.groups()[1:3] if group)
        if name == "decimal":
            precision, scale = (*numbers, 10, 0)[:2] if not numbers else (*numbers, 0)[:2]
            if not (1 <= precision <= MAX_PRECISION and scale <= precision):
                raise self.unreadable(f"a decimal of 1 to {MAX_PRECISION} digits")
            numbers = (precision, scale)
        self.at = match.end()
        return Scalar(name, numbers)

    def _expect(self, mark: str) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        if self.text[self.at : self.at + 1] != mark:
            raise self.unreadable(f"'{mark}'")
        self.at = _SPACE.match(self.text, self.at + 1).end()  # type: ignore[union-attr]

    def unreadable(self, expected: str) -> TypeUnreadable:
        return TypeUnreadable(
            f"The type '{self.text[:200]}' cannot be read: expected {expected} at character {self.at + 1}.",
            remedy="Correct the column's type in the catalog.",
        )

"""Delimited text as LazySimpleSerDe reads it: a text that is not of its column's type is NULL.

Rules: Apache Hive's LazySimpleSerDe and Trino's reader of the same files; Athena user guide, "Lazy Simple SerDe".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.lines import LineOptions
from penstock.query.tables.formats.port import Layout, NumberedFile, Relation
from penstock.query.tables.formats.positions import placed_columns, text_relation
from penstock.sql.errors import StatementError
from penstock.sql.types import duckdb_type, quote_text
from penstock.types.model import LakeType, Struct

__all__ = ["TextFormat", "TextRules", "text_rules"]

_LEVELS = 8
_STAND_INS = 0xF0000  # a private plane of Unicode: escaped marks are these while a line is split


@dataclass(frozen=True, slots=True)
class TextRules:
    """The marks between fields, then between items, keys and values, and so on inwards; the escape; the text of NULL."""

    marks: tuple[str, ...]
    escape: str | None
    null: str

    @property
    def special(self) -> str:
        """The characters that the escape makes plain."""
        return (self.escape or "") + "".join(self.marks)


def text_rules(get: Callable[[str, str], str], refused: Callable[[str], StatementError]) -> TextRules:
    """Return the rules of a table with the property reader ``get``; ``refused`` makes the error about a property."""
    first = get("field.delim", get("serialization.format", "\x01"))
    marks = [_mark("field.delim", first, refused)]
    second = get("collection.delim", get("colelction.delim", "\x02"))  # sic: Hive's own spelling until version 3
    marks.append(_mark("collection.delim", second, refused))
    marks.append(_mark("mapkey.delim", get("mapkey.delim", "\x03"), refused))
    marks += [chr(code) for code in range(4, _LEVELS + 1)]
    escape = get("escape.delim", "")
    if get("serialization.last.column.takes.rest", "false").strip().lower() == "true":
        raise refused("serialization.last.column.takes.rest is not supported.")
    if get("timestamp.formats", ""):
        raise refused("timestamp.formats is not supported.")
    mark = _mark("escape.delim", escape, refused) if escape else None
    return TextRules(tuple(marks), mark, get("serialization.null.format", "\\N"))


def _mark(name: str, text: str, refused: Callable[[str], StatementError]) -> str:
    """Return the character that Hive takes: of a number the one with that code."""
    if re.fullmatch(r"-?\d{1,3}", text, re.ASCII) and -128 <= int(text) <= 127:
        text = chr(int(text) % 256)
    else:
        match = re.fullmatch(r"\\(?:u00([0-9a-fA-F]{2})|([0-7]{3})|([trn\\]))", text)
        if match:
            code, octal, letter = match.groups()
            text = chr(int(code, 16) if code else int(octal, 8)) if code or octal else "\t\r\n\\"["trn\\".index(letter)]
    if len(text) != 1 or ord(text) > 127:
        raise refused(f"{name} {text[:20]!r} is not one ASCII character.")
    return text


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Lines of fields between marks."""

    rules: TextRules
    lines: LineOptions
    columns: Layout

    @property
    def name(self) -> str:
        """The format."""
        return "text"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = with_file
        rules = self.rules
        relation = text_relation(engine, view, files, self.lines, partial(_escaped, rules) if rules.escape else None)
        mark = quote_text(rules.marks[0])
        source = relation.source
        if not rules.escape:
            source = f"(SELECT string_split(line, {mark}) AS v, * EXCLUDE (line) FROM {source})"  # noqa: S608 quoted texts
        decode = partial(_nullable, rules)
        return [replace(relation, source=source, columns=placed_columns(self.columns, used, decode))]


def _escaped(rules: TextRules, file: NumberedFile, first: int, lines: list[str]) -> pa.Array:
    """Split lines at marks that are not escaped. Escaped ones are replaced until their text is decoded."""
    assert rules.escape is not None
    escape, mark, special = rules.escape, rules.marks[0], rules.special
    stand_ins = {name: chr(_STAND_INS + number) for number, name in enumerate(special)}
    pattern = re.compile(re.escape(escape) + "(.)", re.DOTALL)

    def stand_in(match: re.Match[str]) -> str:
        return stand_ins.get(match[1], match[0])

    rows = []
    for number, line in enumerate(lines, start=first):
        text = line
        if escape in line:
            if any(in_ in line for in_ in stand_ins.values()):
                raise bad_data(file[1].path, f"Line {number} has a character of Unicode's private planes beside an escape.")
            text = pattern.sub(stand_in, line)
        rows.append(text.split(mark))
    return pa.array(rows, pa.list_(pa.string()))


def _nullable(rules: TextRules, type_: LakeType, text: str) -> str:
    return f"CASE WHEN {text} <> {quote_text(rules.null)} THEN {_decoded(rules, type_, text, 1)} END"


def _decoded(rules: TextRules, type_: LakeType, text: str, level: int) -> str:
    """Return the SQL of the value that ``text`` (SQL) spells; ``level`` is the place of the mark inside it."""
    if type_.name in {"array", "map", "struct"}:
        return _nested(rules, type_, text, level)
    if type_.name in {"string", "varchar", "char"}:
        plain = _plain(rules, text)
        return f"left({plain}, {type_.numbers[0]})" if type_.name == "varchar" and type_.numbers else plain
    return scalar(type_, text)


def _nested(rules: TextRules, type_: LakeType, text: str, level: int) -> str:
    if level + (type_.name == "map") >= len(rules.marks):
        raise StatementError("HIVE_UNSUPPORTED_FORMAT", f"Types nest deeper than {_LEVELS - 1} levels in a table of text.")
    split, variable = f"string_split({text}, {quote_text(rules.marks[level])})", f"e{level}"

    def inner(index: int, source: str, at: int) -> str:
        value = _decoded(rules, type_.inner[index], source, at)
        return f"CASE WHEN {source} <> {quote_text(rules.null)} THEN {value} END"

    if isinstance(type_, Struct):
        fields = [
            f"{quote_text(field.name)}: {inner(number, f'{split}[{number + 1}]', level + 1)}"
            for number, field in enumerate(type_.fields)
        ]
        return f"{{{', '.join(fields)}}}"
    if type_.name == "array":
        item = inner(0, variable, level + 1)
        return f"CASE WHEN {text} = '' THEN [] ELSE list_transform({split}, lambda {variable}: {item}) END"
    pair = f"string_split({variable}, {quote_text(rules.marks[level + 1])})"
    entry = f"{{'key': {inner(0, f'{pair}[1]', level + 2)}, 'value': {inner(1, f'{pair}[2]', level + 2)}}}"
    entries = f"map_from_entries(list_transform({split}, lambda {variable}: {entry}))"
    return f"CASE WHEN {text} = '' THEN MAP {{}} ELSE {entries} END"


def _plain(rules: TextRules, text: str) -> str:
    """Return the SQL of the text without escapes."""
    if rules.escape is None:
        return text
    text = f"regexp_replace({text}, {quote_text(re.escape(rules.escape) + '(.)')}, '\\1', 'gs')"
    stand_ins = "".join(chr(_STAND_INS + number) for number in range(len(rules.special)))
    return f"translate({text}, {quote_text(stand_ins)}, {quote_text(rules.special)})"


_REAL = r"^[\x00-\x20]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|NaN|[+-]?Infinity)[dDfF]?[\x00-\x20]*$"
_EXACT = r"^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$"
_DAY = r"[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}"
_INSTANT = rf"^\s*({_DAY}(?:[ T][0-9]{{1,2}}:[0-9]{{1,2}}:[0-9]{{1,2}}(?:\.[0-9]{{1,9}})?)?)\s*$"

_PATTERNS = {
    "float": _REAL,
    "double": _REAL,
    "decimal": _EXACT,
    "date": rf"^\s*({_DAY})(?: .*)?$",
    "timestamp": _INSTANT,
    "timestamptz": _INSTANT,
}


def scalar(type_: LakeType, text: str) -> str:
    """Return the SQL of the number, time, boolean or bytes that ``text`` spells; NULL if it spells none."""
    target = duckdb_type("decimal({},{})".format(*type_.numbers) if type_.name == "decimal" else type_.name)

    def matched(pattern: str) -> str:
        return f"TRY_CAST(regexp_extract({text}, {quote_text(pattern)}, 1) AS {target})"

    if type_.name == "boolean":
        return f"CASE lower({text}) WHEN 'true' THEN true WHEN 'false' THEN false END"
    if type_.name in {"tinyint", "smallint", "int", "bigint"}:
        # Digits after a point are left out, as in Hive.
        zero = f"CASE WHEN regexp_full_match({text}, '[+-]?[.][0-9]*') THEN 0 END"
        return f"coalesce({matched('^([+-]?[0-9]+)(?:[.][0-9]*)?$')}, {zero})"
    if type_.name == "void":
        return f"CAST(NULL AS {target})"
    if type_.name == "binary":
        # Bytes are Base64; any other text is taken literally.
        return f"coalesce(TRY(from_base64({text})), encode({text}))"
    return matched(_PATTERNS[type_.name])

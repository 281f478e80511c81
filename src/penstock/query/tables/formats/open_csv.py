"""CSV as OpenCSVSerde reads it: quoted fields, one record a line; every field is a text, then converted by rules of its own.

Rules: Athena user guide, "Open CSV SerDe for processing CSV": numbers without white space, dates as days and timestamps as
milliseconds since 1970; anything else, an empty text too, fails unless ``use.null.for.invalid.data`` is true.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.tables.formats.faults import bad_data, carry_sql
from penstock.query.tables.formats.lines import LineOptions
from penstock.query.tables.formats.port import Layout, NumberedFile, Relation
from penstock.query.tables.formats.positions import placed_columns, text_relation
from penstock.sql.errors import StatementError
from penstock.sql.types import duckdb_type
from penstock.types.model import LakeType

__all__ = ["OpenCsvFormat"]

_WHOLE = r"^([+-]?[0-9]+)$"
_REAL = r"^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|NaN|[+-]?Infinity)$"


@dataclass(frozen=True, slots=True)
class OpenCsvFormat:
    """Lines of fields with quotes and escapes."""

    separator: str
    quote: str
    escape: str
    lenient: bool
    lines: LineOptions
    columns: Layout

    @property
    def name(self) -> str:
        """The format."""
        return "CSV"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = with_file
        relation = text_relation(engine, view, files, self.lines, _Splitter(self))
        columns = placed_columns(self.columns, used, partial(_decoded, self.lenient))
        return [replace(relation, columns=columns)]


class _Splitter:
    """Splits lines; one whose quotes are not around whole fields is an error, because its readers disagree about it."""

    def __init__(self, rules: OpenCsvFormat) -> None:
        separator, quote, escape = (re.escape(name) for name in (rules.separator, rules.quote, rules.escape))
        quoted = f"{quote}(?P<quoted>(?:[^{quote}{escape}]|{quote}{quote}|{escape}.)*){quote}"
        self._field = re.compile(f"(?:{quoted}|(?P<plain>[^{separator}{quote}{escape}]*))(?P<end>{separator}|$)", re.DOTALL)
        self._escaped = re.compile(f"{quote}({quote})|{escape}(.)", re.DOTALL)
        self._rules = rules

    def __call__(self, file: NumberedFile, first: int, lines: list[str]) -> pa.Array:
        rules = self._rules
        rows: list[list[str]] = []
        for number, line in enumerate(lines, start=first):
            if not line:
                rows.append([])
            elif rules.quote not in line and rules.escape not in line:
                rows.append(line.split(rules.separator))
            else:
                rows.append(self._quoted(file, number, line))
        return pa.array(rows, pa.list_(pa.string()))

    def _quoted(self, file: NumberedFile, number: int, line: str) -> list[str]:
        values: list[str] = []
        at = 0
        while True:
            match = self._field.match(line, at)
            if match is None:
                raise bad_data(
                    file[1].path,
                    f"Line {number} has a quote or an escape outside a quoted field, or a quote that does not end.",
                )
            text = match["quoted"]
            values.append(match["plain"] if text is None else self._escaped.sub(lambda item: item[1] or item[2], text))
            if not match["end"]:
                return values
            at = match.end()


def _decoded(lenient: bool, type_: LakeType, text: str) -> str:
    if type_.name in {"string", "varchar", "char"}:
        return f"left({text}, {type_.numbers[0]})" if type_.numbers else text
    if type_.name in {"array", "map", "struct", "binary", "timestamptz"}:
        raise StatementError(
            "HIVE_UNSUPPORTED_FORMAT",
            f"A column of type {type_.name} cannot be read from CSV.",
            remedy="Declare it as string.",
        )
    value = _value(type_, text)
    if type_.name == "void":
        return value
    if lenient:
        return value
    failure = carry_sql(
        "HIVE_BAD_DATA",
        f"Error parsing field value as {type_.name}:",
        text,
        "Declare the column as string, or set use.null.for.invalid.data.",
    )
    return f"CASE WHEN {text} IS NOT NULL THEN coalesce({value}, {failure}) END"


def _value(type_: LakeType, text: str) -> str:
    target = duckdb_type("decimal({},{})".format(*type_.numbers) if type_.name == "decimal" else type_.name)
    if type_.name == "boolean":
        return f"CASE lower({text}) WHEN 'true' THEN true WHEN 'false' THEN false END"
    if type_.name in {"date", "timestamp"}:
        number = f"TRY_CAST(regexp_extract({text}, '{_WHOLE}', 1) AS BIGINT)"
        return (
            f"TRY_CAST(DATE '1970-01-01' + CAST({number} AS INTEGER) AS DATE)"
            if type_.name == "date"
            else f"make_timestamp({number} * 1000)"
        )
    if type_.name == "void":
        return f"CAST(NULL AS {target})"
    pattern = _REAL if type_.name in {"float", "double", "decimal"} else _WHOLE
    return f"TRY_CAST(regexp_extract({text}, '{pattern}', 1) AS {target})"

"""Delimited text, as Glue's classifier for CSV takes it: delimiter, header and types from the first records.

Source: Glue developer guide, "Built-in CSV classifier": the delimiters it looks for, and its rule for headers.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from penstock.catalog.model import Column
from penstock.crawl.formats.sample import FileFormat, Recognized, Sample
from penstock.errors import DataProblem

__all__ = ["CsvRules", "delimited"]

_DELIMITERS = (",", "|", "\t", ";", "\x01")
_MOST_RECORDS = 1_000
_MOST_COLUMNS = 10_000
_HEADER_NAME = re.compile(r"[A-Za-z_][\w .\-/()#%&]{0,254}")
_MOST_HEADER = 150
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvRules:
    """What a custom classifier says; None where the text itself is to tell."""

    delimiter: str | None = None
    quote: str = '"'
    has_header: bool | None = None
    header: Sequence[str] = ()
    types: Sequence[str] = ()
    single_column: bool = False
    serde: str | None = None
    trims: bool = True


def delimited(sample: Sample, text: str, rules: CsvRules | None = None) -> Recognized | None:
    """Return what delimited text has; None if no delimiter gives every record the same fields, at least two.

    Raises :class:`DataProblem` for more fields than a table has columns.
    """
    rules = rules or CsvRules()
    end = len(text) if sample.whole else text.rfind("\n") + 1
    complete = text[:end]
    if "\x00" in complete or not complete.strip():
        return None
    for delimiter in (rules.delimiter,) if rules.delimiter else _DELIMITERS:
        rows = _rows(complete, delimiter, rules)
        if rows and len(rows[0]) > _MOST_COLUMNS:
            raise DataProblem(f"its first record has {len(rows[0]):,} fields, more than {_MOST_COLUMNS:,}")
        if rows and len(rows[0]) >= (1 if rules.single_column else 2) and len({len(row) for row in rows}) == 1:
            return _recognized(sample, complete, rows, delimiter, rules)
    return None


def _rows(text: str, delimiter: str, rules: CsvRules) -> list[list[str]]:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=rules.quote, strict=False)
        rows = [row for row in islice(reader, _MOST_RECORDS) if row]
    except csv.Error:
        return []
    return [[field.strip() for field in row] for row in rows] if rules.trims else rows


def _recognized(sample: Sample, text: str, rows: list[list[str]], delimiter: str, rules: CsvRules) -> Recognized | None:
    headed = rules.has_header if rules.has_header is not None else _is_header(rows)
    data = rows[1:] if headed else rows
    if rules == CsvRules() and len(rows) < 2:
        return None
    if rules.header and len(rules.header) != len(rows[0]):
        return None
    names = rules.header or (rows[0] if headed else [f"col{number}" for number in range(len(rows[0]))])
    if rules.types and len(rules.types) != len(names):
        return None
    types = rules.types or [_type([row[number] for row in data]) for number in range(len(names))]
    quoted = rules.serde == "OpenCSVSerDe" or (rules.serde is None and _quotes(text, delimiter, rules.quote))
    records = text.count("\n") + (not text.endswith("\n")) - headed
    file_format = FileFormat(
        classification="csv",
        compression=sample.compression,
        serde=(("escapeChar", "\\"), ("quoteChar", rules.quote), ("separatorChar", delimiter))
        if quoted
        else (("field.delim", delimiter),),
        parameters=(
            ("areColumnsQuoted", "true" if quoted else "false"),
            ("columnsOrdered", "true"),
            ("delimiter", delimiter),
            *((("skip.header.line.count", "1"),) if headed else ()),
        ),
    )
    columns = tuple(Column(name=name, type=column_type) for name, column_type in zip(_unique(names), types, strict=True))
    read_bytes = len(text.encode()) if sample.compression == "none" else 0
    return Recognized(format=file_format, columns=columns, rows=sample.estimate(max(0, records), read_bytes))


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Every field of the first row is a name, and in some column the rows below it are not strings."""
    first, rest = rows[0], rows[1:]
    if not rest or len({name.lower() for name in first}) != len(first):
        return False
    if any(len(name) >= _MOST_HEADER for name in first[:-1]) or not all(_HEADER_NAME.fullmatch(name) for name in first):
        return False
    return any(_type([row[number] for row in rest]) != "string" for number in range(len(first)))


def _type(values: Sequence[str]) -> str:
    texts = [value for value in values if value]
    if texts and all(_INTEGER.fullmatch(value) for value in texts):
        return "bigint"
    return "double" if texts and all(_NUMBER.fullmatch(value) for value in texts) else "string"


def _quotes(text: str, delimiter: str, quote: str) -> bool:
    # A field that begins with a quote would keep it with the simple SerDe.
    return re.search(rf"(?:^|[{re.escape(delimiter)}\n]){re.escape(quote)}", text[:100_000]) is not None


def _unique(names: Sequence[str]) -> Sequence[str]:
    unique: dict[str, None] = {}
    last: dict[str, int] = {}
    for name in names:
        candidate = base = name.strip().lower() or f"col{len(unique)}"
        while candidate in unique:
            # From the last number on: ten thousand equal names would otherwise take fifty million looks.
            last[base] = last.get(base, 1) + 1
            candidate = f"{base}_{last[base]}"
        unique[candidate] = None
    return list(unique)

"""Lines of JSON as the SerDes of OpenX and of Hive's catalog read them.

Rules: Athena user guide, "JSON SerDe libraries", and Trino's readers of the same files. The two differ: OpenX's converts
between texts, numbers and booleans, takes an array for a row of values by position, and any other
line that is not an object for a row of NULLs; that of Hive's catalog wants the declared types.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.tables.formats.casts import null_of
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.json_values import Converter, JsonProblem, Number, converter
from penstock.query.tables.formats.lines import LineOptions, read_lines
from penstock.query.tables.formats.port import FILE_COLUMN, Layout, NumberedFile, Relation
from penstock.query.tables.formats.streams import register_stream
from penstock.sql.hive_types import parse_hive_type
from penstock.sql.types import quote_name
from penstock.types import arrow
from penstock.types.model import LakeType

__all__ = ["JsonFormat", "JsonRules"]

_ROWS = 4_096
_LAYOUTS = 256  # of objects in a table: lists of their keys

# The ranges of the types whose values orjson makes as they are to be; those of other scalar types are made from texts.
_RANGES = {
    f"{name}int": (-(1 << bits - 1), (1 << bits - 1) - 1)
    for name, bits in (("tiny", 8), ("small", 16), ("", 32), ("big", 64))
}
_MINUS_ZERO = re.compile(r"-0(?![\d.])")  # orjson reads it as a whole number, which has no sign
_NESTED = frozenset({"array", "map", "struct"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRules:
    """The properties of the SerDe; ``mapped`` has pairs of a column and the key that it is read from."""

    openx: bool
    fold_case: bool = True
    dots: bool = False
    ignore_malformed: bool = False
    mapped: tuple[tuple[str, str], ...] = ()

    def key(self, name: str) -> str:
        """Return an object's key as columns are named."""
        name = name.lower() if self.fold_case else name
        return name.replace(".", "_") if self.dots else name


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A JSON object in each line."""

    rules: JsonRules
    lines: LineOptions
    columns: Layout

    @property
    def name(self) -> str:
        """The format."""
        return "JSON"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = with_file
        places = {name: number for number, (name, _) in enumerate(self.columns)}
        mine = [column for column in used if column.name.lower() in places]
        types = [parse_hive_type(column.type or "string") for column in mine]
        schema = pa.schema(
            [
                *((column.name.lower(), arrow.render(type_)) for column, type_ in zip(mine, types, strict=True)),
                (FILE_COLUMN, pa.int32()),
            ]
        )
        reader = _RowReader(self.rules, mine, types, [places[column.name.lower()] for column in mine])

        def batches() -> Iterator[pa.RecordBatch]:
            for file, first, lines in read_lines(files, self.lines):
                for start in range(0, len(lines), _ROWS):
                    part = lines[start : start + _ROWS]
                    rows = reader.columns(file[1].path, first + start, part)
                    arrays = [pa.array(values, type_) for values, type_ in zip(rows, schema.types, strict=False)]
                    count = len(part)
                    yield pa.record_batch([*arrays, pa.array([file[0]] * count, pa.int32())], schema=schema)

        source = register_stream(engine, view, schema, batches)
        columns = {column.name.lower(): null_of(column) for column in used}
        columns |= {column.name.lower(): f"f.{quote_name(column.name.lower())}" for column in mine}
        return [Relation(source, columns)]


class _RowReader:
    """Reads lines to values by column."""

    def __init__(
        self, rules: JsonRules, columns: Sequence[Column], types: Sequence[LakeType], places: Sequence[int]
    ) -> None:
        self._rules = rules
        mapped = dict(rules.mapped)
        self._keys = [mapped.get(column.name.lower(), column.name.lower()) for column in columns]
        self._keys = [rules.key(key) for key in self._keys]
        self._places = places
        self._names = [column.name for column in columns]
        self._converters: list[Converter] = [converter(type_, openx=rules.openx) for type_ in types]
        self._kinds = types
        self._plain = not any(type_.name in _NESTED for type_ in types)
        self._layouts: dict[tuple[str, ...], Sequence[str | None] | None] = {}

    def columns(self, path: str, first: int, lines: Sequence[str]) -> list[list[Any]]:
        """Return the values of each column. Raises :class:`StatementError` with the line's number."""
        quick = self._quick(lines) if self._plain else None
        return quick if quick is not None else self._careful(path, first, lines)

    def _quick(self, lines: Sequence[str]) -> list[list[Any]] | None:
        """Return what :meth:`_careful` does if each line is an object with values of the declared types, else None."""
        try:
            objects = [orjson.loads(line) for line in lines]
        except orjson.JSONDecodeError:
            return None
        if any(type(object_) is not dict for object_ in objects):
            return None
        layouts = [self._layout(tuple(object_)) for object_ in objects]
        rows = []
        for at, (type_, convert) in enumerate(zip(self._kinds, self._converters, strict=True)):
            # A missing key is None in its layout, which no object has.
            values = [
                None if keys is None else object_.get(keys[at]) for object_, keys in zip(objects, layouts, strict=True)
            ]
            column = _typed(values, type_.name, convert)
            signed = type_.name in {"double", "float"}
            if column is None or (signed and 0.0 in column and any(map(_MINUS_ZERO.search, lines))):
                return None
            rows.append(column)
        return None if None in layouts else rows

    def _layout(self, keys: tuple[str, ...]) -> Sequence[str | None] | None:
        """Return the object's key of each column, None for those that it lacks; None if two of its keys are one here."""
        if keys not in self._layouts:
            if len(self._layouts) == _LAYOUTS:
                self._layouts.clear()
            folded = {self._rules.key(key): key for key in keys}
            self._layouts[keys] = [folded.get(key) for key in self._keys] if len(folded) == len(keys) else None
        return self._layouts[keys]

    def _careful(self, path: str, first: int, lines: Sequence[str]) -> list[list[Any]]:
        read: list[list[Any]] = [[] for _ in self._keys]
        for number, line in enumerate(lines, start=first):
            try:
                values = self._row(line)
            except JsonProblem as error:
                raise bad_data(path, f"Line {number}: {error}") from None
            for column, value in zip(read, values, strict=True):
                column.append(value)
        return read

    def _row(self, line: str) -> Sequence[Any]:
        empty = [None] * len(self._keys)
        text = line.strip()
        if self._rules.openx and not text:
            return empty
        try:
            value = json.loads(
                text, parse_float=Number, parse_int=Number, parse_constant=_refuse, object_pairs_hook=self._object
            )
        except (ValueError, RecursionError) as error:
            if self._rules.ignore_malformed:
                return empty
            raise JsonProblem(f"it is not JSON ({error}).") from None
        if isinstance(value, list) and self._rules.openx:
            return self._converted([value[place] if place < len(value) else None for place in self._places])
        if not isinstance(value, dict):
            if (value is None and not self._rules.openx) or self._rules.ignore_malformed:
                return empty
            raise JsonProblem("it is not a JSON object.")
        return self._converted([value.get(key) for key in self._keys])

    def _converted(self, values: Sequence[Any]) -> Sequence[Any]:
        columns = []
        for name, convert, value in zip(self._names, self._converters, values, strict=True):
            try:
                columns.append(None if value is None else convert(value))
            except JsonProblem as error:
                raise JsonProblem(f"column '{name}': {error}") from None
        return columns

    def _object(self, pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
        return _Object(pairs, self._rules.key)


def _typed(values: list[Any], type_: str, convert: Converter) -> list[Any] | None:
    """Return values of orjson's as ``convert`` makes them of the file's texts; None if some could differ."""
    types = set(map(type, values)) - {type(None)}
    if type_ in {"double", "float"} and types <= {int, float}:
        return [None if item is None else float(item) for item in values]
    if types == {str} and type_ not in _RANGES:
        return values if type_ == "string" else _converted_texts(values, convert)
    if type_ in _RANGES and types == {int}:
        low, high = _RANGES[type_]
        present = [item for item in values if item is not None]
        return values if low <= min(present) and max(present) <= high else None
    # Other values are made of a number's text, which orjson does not keep.
    return values if not types or (type_ == "boolean" and types == {bool}) else None


def _converted_texts(values: list[Any], convert: Converter) -> list[Any] | None:
    try:
        converted = {item: convert(item) for item in set(values) - {None}}
    except JsonProblem:
        return None  # its message has the line's number
    return [converted.get(item) for item in values]


class _Object(dict[str, Any]):
    """A JSON object by its keys as columns are named; ``pairs`` has its own keys, which maps and texts need."""

    def __init__(self, pairs: list[tuple[str, Any]], key: Callable[[str], str]) -> None:
        super().__init__((key(name), value) for name, value in pairs)
        self.pairs = pairs


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a value")

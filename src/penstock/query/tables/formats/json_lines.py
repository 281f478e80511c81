"""Lines of JSON as the SerDes of OpenX and of Hive's catalog read them.

Rules: Athena user guide, "JSON SerDe libraries", and Trino's readers of the same files. The two differ: OpenX's converts
between texts, numbers and booleans, takes an array for a row of values by position, and a line that is no object for a row
of NULLs; that of Hive's catalog wants the declared types.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.dialect.hive_types import HiveType, parse_hive_type
from penstock.query.dialect.types import quote_name
from penstock.query.tables.formats.arrow_types import arrow_type
from penstock.query.tables.formats.casts import nothing
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.json_values import Converter, JsonProblem, Number, converter
from penstock.query.tables.formats.lines import LineOptions, read_lines
from penstock.query.tables.formats.port import FILE_COLUMN, Layout, NumberedFile, Relation
from penstock.query.tables.formats.streams import register_stream

__all__ = ["JsonFormat", "JsonRules"]

_ROWS = 4_096


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
        self, engine: Any, view: str, files: Sequence[NumberedFile], wanted: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = with_file
        places = {name: number for number, (name, _) in enumerate(self.columns)}
        mine = [column for column in wanted if column.name.lower() in places]
        kinds = [parse_hive_type(column.type or "string") for column in mine]
        schema = pa.schema(
            [
                *((column.name.lower(), arrow_type(kind)) for column, kind in zip(mine, kinds, strict=True)),
                (FILE_COLUMN, pa.int32()),
            ]
        )
        reader = _RowReader(self.rules, mine, kinds, [places[column.name.lower()] for column in mine])

        def batches() -> Iterator[pa.RecordBatch]:
            for file, first, lines in read_lines(files, self.lines):
                for start in range(0, len(lines), _ROWS):
                    part = lines[start : start + _ROWS]
                    rows = reader.columns(file[1].path, first + start, part)
                    arrays = [pa.array(values, kind) for values, kind in zip(rows, schema.types, strict=False)]
                    count = len(part)
                    yield pa.record_batch([*arrays, pa.array([file[0]] * count, pa.int32())], schema=schema)

        source = register_stream(engine, view, schema, batches)
        columns = {column.name.lower(): nothing(column) for column in wanted}
        columns |= {column.name.lower(): f"f.{quote_name(column.name.lower())}" for column in mine}
        return [Relation(source, columns)]


class _RowReader:
    """Reads lines to values by column."""

    def __init__(
        self, rules: JsonRules, columns: Sequence[Column], kinds: Sequence[HiveType], places: Sequence[int]
    ) -> None:
        self._rules = rules
        mapped = dict(rules.mapped)
        self._keys = [mapped.get(column.name.lower(), column.name.lower()) for column in columns]
        self._keys = [rules.key(key) for key in self._keys]
        self._places = places
        self._names = [column.name for column in columns]
        self._converters: list[Converter] = [converter(kind, openx=rules.openx) for kind in kinds]

    def columns(self, path: str, first: int, lines: Sequence[str]) -> list[list[Any]]:
        """Return the values of each column. Raises :class:`StatementError` with the line's number."""
        found: list[list[Any]] = [[] for _ in self._keys]
        for number, line in enumerate(lines, start=first):
            try:
                values = self._row(line)
            except JsonProblem as error:
                raise bad_data(path, f"Line {number}: {error}") from None
            for column, value in zip(found, values, strict=True):
                column.append(value)
        return found

    def _row(self, line: str) -> Sequence[Any]:
        empty = [None] * len(self._keys)
        text = line.strip()
        if self._rules.openx and not text.startswith(("{", "[")):
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
            if value is None and not self._rules.openx:
                return empty
            raise JsonProblem("it is not a JSON object.")
        return self._converted([value.get(key) for key in self._keys])

    def _converted(self, values: Sequence[Any]) -> Sequence[Any]:
        found = []
        for name, convert, value in zip(self._names, self._converters, values, strict=True):
            try:
                found.append(None if value is None else convert(value))
            except JsonProblem as error:
                raise JsonProblem(f"column '{name}': {error}") from None
        return found

    def _object(self, pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
        return _Object(pairs, self._rules.key)


class _Object(dict[str, Any]):
    """A JSON object by its keys as columns are named; ``pairs`` has its own keys, which maps and texts need."""

    def __init__(self, pairs: list[tuple[str, Any]], key: Callable[[str], str]) -> None:
        super().__init__((key(name), value) for name, value in pairs)
        self.pairs = pairs


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a value")

"""Records for the functions of scripts, and their results as rows. No Spark session: this runs in Spark's workers.

A record is a dict whose fields are attributes, too. A choice is the value itself, of whatever type it is.
"""

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as s

from penstock.glue.schemas.choices import is_choice, is_sparse
from penstock.glue.schemas.inference import type_of

__all__ = ["ERROR_FIELDS", "Attempt", "DynamicRecord", "attempts", "record_reader", "row_writer"]

_MOST_TEXT = 10_000
Convert = Callable[[Any], Any]


class DynamicRecord(dict[str, Any]):
    """A record of a DynamicFrame: ``record["field"]`` and ``record.field`` are the same."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"The record has no field {name}. It has {', '.join(self) or 'none'}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        self.pop(name, None)


def record_reader(data_type: s.DataType) -> Convert | None:
    """Return the function from Spark's value of ``data_type`` to a record's, None if the value stays as it is."""
    if isinstance(data_type, s.StructType):
        readers = [(field.name, record_reader(field.dataType)) for field in data_type.fields]
        lacking = frozenset(field.name for field in data_type.fields if is_sparse(field))
        return _member(readers) if is_choice(data_type) else _struct(readers, lacking)
    if isinstance(data_type, s.ArrayType):
        element = record_reader(data_type.elementType)
        return None if element is None else lambda value: value and [element(item) for item in value]
    if isinstance(data_type, s.MapType):
        inner = record_reader(data_type.valueType)
        return None if inner is None else lambda value: value and {key: inner(item) for key, item in value.items()}
    return None


def _struct(readers: list[tuple[str, Convert | None]], lacking: frozenset[str]) -> Convert:
    def read(value: Any) -> Any:
        if value is None:
            return None
        pairs = zip(readers, value, strict=True)
        return DynamicRecord(
            (name, item if reader is None else reader(item))
            for (name, reader), item in pairs
            if item is not None or name not in lacking
        )

    return read


def _member(readers: list[tuple[str, Convert | None]]) -> Convert:
    def read(value: Any) -> Any:
        for (_, reader), item in zip(readers, value or (), strict=bool(value)):
            if item is not None:
                return item if reader is None else reader(item)
        return None

    return read


def row_writer(data_type: s.DataType) -> Convert | None:
    """Return the function from a record's value to Spark's of ``data_type``, None if the value stays as it is."""
    if isinstance(data_type, s.StructType):
        writers = [(field.name, row_writer(field.dataType)) for field in data_type.fields]
        return _written_choice(writers) if is_choice(data_type) else _written_struct(writers)
    if isinstance(data_type, s.ArrayType):
        element = row_writer(data_type.elementType) or _same
        return lambda value: None if value is None else [element(item) for item in value]
    if isinstance(data_type, s.MapType):
        inner = row_writer(data_type.valueType) or _same
        return lambda value: None if value is None else {str(key): inner(item) for key, item in value.items()}
    return _float if isinstance(data_type, s.DoubleType | s.FloatType) else None


def _same(value: Any) -> Any:
    return value


def _float(value: Any) -> Any:
    return None if value is None else float(value)


def _written_struct(writers: list[tuple[str, Convert | None]]) -> Convert:
    def write(value: Any) -> Any:
        if value is None:
            return None
        return tuple(value.get(name) if writer is None else writer(value.get(name)) for name, writer in writers)

    return write


def _written_choice(writers: list[tuple[str, Convert | None]]) -> Convert:
    members = {name: (index, writer) for index, (name, writer) in enumerate(writers)}

    def write(value: Any) -> Any:
        if value is None:
            return None
        name = type_of(value).typeName()
        # Integers that fit a smaller type are of the next larger one if the choice has only that.
        index, writer = next(members[type_name] for type_name in (name, *_LARGER.get(name, ())) if type_name in members)
        values: list[Any] = [None] * len(writers)
        values[index] = value if writer is None else writer(value)
        return tuple(values)

    return write


_LARGER: Mapping[str, tuple[str, ...]] = {
    "int": ("long", "short", "byte", "double", "float"),
    "double": ("float",),
    "struct": ("map",),
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a function made of one record: a result, or the error that it raised."""

    result: Any = None
    error: tuple[str, list[str], str] | None = None


ERROR_FIELDS = s.StructType(
    [
        s.StructField("msg", s.StringType()),
        s.StructField("stackTrace", s.ArrayType(s.StringType())),
        s.StructField("input", s.StringType()),
    ]
)
"""Of an error record: the message, the lines of the trace, and the record as JSON, at most 10,000 characters of it."""


def attempts(
    rows: Iterable[Any], schema: s.StructType, function: Callable[[Any], Any], *, traced: bool = True
) -> Iterator[Attempt]:
    """Yield what ``function`` makes of each row. An exception is the error of its record, and no other's.

    Not ``traced``, an error has its message alone, as a trace costs twenty times what the function does.
    """
    read = record_reader(schema)
    assert read is not None
    for row in rows:
        try:
            yield Attempt(function(read(row)))
        except Exception as error:  # noqa: BLE001 - the script's own function
            yield failed(error, read(row)) if traced else Attempt(error=(_message(error), [], ""))


def failed(error: Exception, record: Any) -> Attempt:
    """Return the attempt that raised ``error`` for ``record``."""
    lines = [line.rstrip() for line in traceback.format_exception(error)]
    text = json.dumps(record, default=str)[:_MOST_TEXT]
    return Attempt(error=(_message(error), lines[-50:], text))


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:_MOST_TEXT]

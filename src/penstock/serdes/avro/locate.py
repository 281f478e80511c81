"""The path of the first unreadable part of an Avro payload. The walk runs only after fastavro has refused the payload."""

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import fastavro

from penstock.schema.avro.fold import FunctionFold
from penstock.schema.avro.library import library_schema
from penstock.schema.avro.logical import logical_type
from penstock.schema.avro.model import (
    ArrayType,
    AvroSchema,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
)

__all__ = ["Locate", "compile_locate"]

Locate = Callable[[bytes, int, str], tuple[str, str] | None]
"""A function from a message, the payload's start and the root of paths to the path of the first unreadable part and why.

The reason is empty if the payload ends there. The result is ``None`` if nothing is found, or the payload has too many bytes
or values to walk.
"""

_MAX_BYTES = 1 << 20  # the largest payload that is walked in Python to explain an error
_MAX_VALUES = 50_000  # a count of five bytes can claim millions of values without bytes
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


class _Stop(Exception):
    """The value at ``path`` cannot be read; ``why`` is empty if the bytes end inside it."""

    def __init__(self, path: str, why: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.why = why


class _TooMany(Exception):
    """The payload has more values than :data:`_MAX_VALUES`."""


def compile_locate(schema: AvroSchema) -> Locate:
    """Return the function that finds the fault in payloads of ``schema``."""
    walk = _Walks(schema).root()

    def locate(data: bytes, start: int, root: str) -> tuple[str, str] | None:
        if len(data) - start > _MAX_BYTES:
            return None
        try:
            walk(_Cursor(data, start), root)
        except _Stop as found:
            return found.path, found.why
        except (RecursionError, _TooMany):
            pass
        return None

    return locate


class _Cursor:
    """A payload and the position in it."""

    def __init__(self, data: bytes, at: int) -> None:
        self.at = at
        self._data = data
        self._budget = _MAX_VALUES

    def count(self) -> None:
        """Count a value."""
        self._budget -= 1
        if self._budget < 0:
            raise _TooMany

    def choice(self, path: str, count: int, what: str) -> int:
        index = self.number(path)
        if not 0 <= index < count:
            raise _Stop(path, f"it names {what} {index} of {count}")
        return index

    def take(self, size: int, path: str) -> bytes:
        if size < 0:
            raise _Stop(path, f"it has the negative length {size}")
        data = self._data[self.at : self.at + size]
        if len(data) < size:
            raise _Stop(path)
        self.at += size
        return data

    def number(self, path: str) -> int:
        result = shift = 0
        while True:
            if self.at >= len(self._data):
                raise _Stop(path)
            byte = self._data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (result >> 1) ^ -(result & 1)
            shift += 7
            if shift >= 70:
                raise _Stop(path, "it is an integer of more than ten bytes")

    def text(self, path: str) -> str:
        data = self.take(self.number(path), path)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise _Stop(path, f"it is not UTF-8: {error.reason}") from None

    def check_logical(self, began: int, schema: Any, name: object, path: str) -> None:
        """Check that fastavro can read the bytes since ``began`` as a value of the logical type."""
        try:
            fastavro.schemaless_reader(BytesIO(self._data[began : self.at]), schema, None)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise _Stop(path, f"it is not a valid {name}: {error}") from None


_Walk = Callable[[_Cursor, str], None]


class _Walks(FunctionFold[[_Cursor, str], None]):
    """Functions that read a value of a type without building it, and raise :class:`_Stop` at the first fault."""

    def primitive(self, avro_type: PrimitiveType) -> _Walk:
        return self._leaf(avro_type, _primitive(avro_type.name))

    def enum(self, avro_type: EnumType) -> _Walk:
        count = len(avro_type.symbols)
        return self._leaf(avro_type, lambda cursor, path: cursor.choice(path, count, "symbol"))

    def fixed(self, avro_type: FixedType) -> _Walk:
        size = avro_type.size
        return self._leaf(avro_type, lambda cursor, path: cursor.take(size, path))

    def _leaf(self, avro_type: PrimitiveType | EnumType | FixedType, read: Callable[[_Cursor, str], object]) -> _Walk:
        logical = logical_type(avro_type)
        schema = library_schema(AvroSchema(root=avro_type, names={})) if logical is not None else None

        def walk(cursor: _Cursor, path: str) -> None:
            cursor.count()
            began = cursor.at
            read(cursor, path)
            if schema is not None:
                cursor.check_logical(began, schema, logical, path)

        return walk

    def array(self, avro_type: ArrayType, items: _Walk) -> _Walk:  # noqa: ARG002
        def item(cursor: _Cursor, path: str, index: int) -> None:
            items(cursor, f"{path}[{index}]")

        return _blocks(item)

    def map(self, avro_type: MapType, values: _Walk) -> _Walk:  # noqa: ARG002
        def item(cursor: _Cursor, path: str, index: int) -> None:  # noqa: ARG001
            key = cursor.text(path)
            values(cursor, f"{path}[{key!r}]")

        return _blocks(item)

    def union(self, avro_type: UnionType, branches: Sequence[_Walk]) -> _Walk:  # noqa: ARG002
        def walk(cursor: _Cursor, path: str) -> None:
            cursor.count()
            branches[cursor.choice(path, len(branches), "branch")](cursor, path)

        return walk

    def record(self, avro_type: RecordType, fields: Sequence[_Walk]) -> _Walk:
        parts = [(field.name, walk) for field, walk in zip(avro_type.fields, fields, strict=True)]

        def walk(cursor: _Cursor, path: str) -> None:
            cursor.count()
            for name, part in parts:
                part(cursor, f"{path}.{name}")

        return walk


def _blocks(walk_item: Callable[[_Cursor, str, int], None]) -> _Walk:
    def walk(cursor: _Cursor, path: str) -> None:
        cursor.count()
        index = 0
        while (count := cursor.number(path)) != 0:
            if count < 0:
                count = -count
                cursor.number(path)
            for _ in range(count):
                walk_item(cursor, path, index)
                index += 1

    return walk


def _primitive(name: str) -> Callable[[_Cursor, str], object]:
    if name in _SIZES:
        size = _SIZES[name]
        return lambda cursor, path: cursor.take(size, path)
    match name:
        case "string":
            return _Cursor.text
        case "bytes":
            return lambda cursor, path: cursor.take(cursor.number(path), path)
        case _:
            return _Cursor.number

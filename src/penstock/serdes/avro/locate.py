"""Where in a record an Avro payload stops making sense: a walk that runs only after fastavro has refused the payload."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import fastavro

__all__ = ["locate"]

_MAX_BYTES = 1 << 20  # of a payload that is walked in Python for the sake of a message
_MAX_VALUES = 50_000  # of all kinds: values without bytes are as many as a count of five bytes claims
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8}


class _Stop(Exception):
    """The value at ``path`` cannot be read; ``why`` is empty where the bytes end inside it."""

    def __init__(self, path: str, why: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.why = why


class _TooMany(Exception):
    """More values than a message is worth."""


def locate(schema: Any, named: Mapping[str, Any], data: bytes, start: int, root: str) -> tuple[str, str] | None:
    """The path, from ``root``, of the first part of the payload that cannot be read, and why not.

    The reason is empty where the payload ends there; ``None`` where nothing is found, or the payload has too many bytes or
    values to walk.
    """
    if len(data) - start > _MAX_BYTES:
        return None
    try:
        _Walk(named, data, start).value(schema, root)
    except _Stop as found:
        return found.path, found.why
    except (RecursionError, _TooMany):
        pass
    return None


class _Walk:
    def __init__(self, named: Mapping[str, Any], data: bytes, at: int) -> None:
        self._named = named
        self._data = data
        self._at = at
        self._left = _MAX_VALUES

    def value(self, schema: Any, path: str) -> None:
        self._left -= 1
        if self._left < 0:
            raise _TooMany
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        if isinstance(schema, list):
            branch = self._choice(path, len(schema), "branch")
            self.value(schema[branch], path)
            return
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            self.value(kind, path)
        elif kind in {"record", "error"}:
            for part in schema["fields"]:
                self.value(part["type"], f"{path}.{part['name']}")
        elif kind in {"array", "map"}:
            self._blocks(schema, kind, path)
        else:
            self._leaf(schema, kind, path)

    def _leaf(self, schema: Any, kind: str, path: str) -> None:
        began = self._at
        if kind in _SIZES:
            self._take(_SIZES[kind], path)
        elif kind == "fixed":
            self._take(schema["size"], path)
        elif kind == "enum":
            self._choice(path, len(schema["symbols"]), "symbol")
        elif kind in {"string", "bytes"}:
            text = self._take(self._number(path), path)
            if kind == "string":
                _check_text(text, path)
        else:
            self._number(path)
        if isinstance(schema, dict) and "logicalType" in schema:
            self._check_logical(schema, self._data[began : self._at], path)

    def _check_logical(self, schema: Any, data: bytes, path: str) -> None:
        try:
            fastavro.schemaless_reader(BytesIO(data), fastavro.parse_schema(schema), None)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise _Stop(path, f"it is no {schema['logicalType']}: {error}") from None

    def _blocks(self, schema: Any, kind: str, path: str) -> None:
        index = 0
        while (count := self._number(path)) != 0:
            if count < 0:
                count = -count
                self._number(path)
            for _ in range(count):
                where = f"{path}[{index}]"
                if kind == "map":
                    key = self._take(self._number(path), path)
                    _check_text(key, path)
                    where = f"{path}[{key.decode()!r}]"
                self.value(schema["items" if kind == "array" else "values"], where)
                index += 1

    def _choice(self, path: str, count: int, what: str) -> int:
        index = self._number(path)
        if not 0 <= index < count:
            raise _Stop(path, f"it names {what} {index} of {count}")
        return index

    def _take(self, size: int, path: str) -> bytes:
        if size < 0:
            raise _Stop(path, f"it has the negative length {size}")
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise _Stop(path)
        self._at += size
        return taken

    def _number(self, path: str) -> int:
        result = shift = 0
        while True:
            if self._at >= len(self._data):
                raise _Stop(path)
            byte = self._data[self._at]
            self._at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (result >> 1) ^ -(result & 1)
            shift += 7
            if shift >= 70:
                raise _Stop(path, "it is an integer of more than ten bytes")


def _check_text(data: bytes, path: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _Stop(path, f"it is no UTF-8: {error.reason}") from None

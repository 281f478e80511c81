"""The path of the first unreadable part of a Protobuf payload. The walk runs only after upb has refused the payload.

Wire format: https://protobuf.dev/programming-guides/encoding/
"""

from typing import Any

__all__ = ["locate_in_message"]

_MAX_BYTES = 1 << 20  # the largest payload that is walked in Python to explain an error
_MAX_DEPTH = 100  # of nested messages; upb has the same limit
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}
_TEN = 70  # bits of the longest varint


class _Stop(Exception):
    """The value at ``path`` cannot be read; ``why`` is empty if the bytes end inside it."""

    def __init__(self, path: str, why: str = "") -> None:
        super().__init__(path)
        self.path = path
        self.why = why


def locate_in_message(descriptor: Any, data: bytes, name: str) -> tuple[str, str] | None:
    """Return the path, from the message's name, of the first unreadable part of ``data``, and the reason.

    The reason is empty if the bytes end there. The result is ``None`` if nothing is found, or ``data`` is too large to walk.
    """
    if len(data) > _MAX_BYTES:
        return None
    try:
        _Walk(data).message(descriptor, 0, len(data), name)
    except _Stop as found:
        return found.path, found.why
    return None


class _Walk:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._depth = 0

    def message(self, descriptor: Any, at: int, end: int, path: str) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Stop(path, f"it nests deeper than {_MAX_DEPTH} messages")
        while at < end:
            tag, at = self._varint(at, end, path)
            number, wire_type = tag >> 3, tag & 7
            field = descriptor.fields_by_number.get(number) if descriptor is not None else None
            where = f"{path}.{field.name if field is not None else number}"
            if number == 0:
                raise _Stop(path, "it has a field with number 0")
            at = self._field((field, wire_type), at, end, where)
        self._depth -= 1

    def _field(self, described: tuple[Any, int], at: int, end: int, path: str) -> int:
        field, kind = described
        if kind == _VARINT:
            return self._varint(at, end, path)[1]
        if kind in _SIZES:
            if at + _SIZES[kind] > end:
                raise _Stop(path)
            return at + _SIZES[kind]
        if kind != _LENGTH:
            raise _Stop(path, f"it has wire type {kind}, which these definitions do not use")
        size, at = self._varint(at, end, path)
        # The walk continues inside a cut message, to find the path of the cut.
        stop = min(at + size, end)
        if field is not None and field.type == field.TYPE_MESSAGE:
            self.message(field.message_type, at, stop, path)
        if at + size > end:
            raise _Stop(path)
        if field is not None and field.type == field.TYPE_STRING:
            try:
                self._data[at:stop].decode()
            except UnicodeDecodeError as error:
                raise _Stop(path, f"it is not UTF-8: {error.reason}") from None
        return at + size

    def _varint(self, at: int, end: int, path: str) -> tuple[int, int]:
        result = shift = 0
        while shift < _TEN:
            if at >= end:
                raise _Stop(path)
            byte = self._data[at]
            at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result, at
            shift += 7
        raise _Stop(path, "it is an integer of more than ten bytes")

"""Protobuf payloads to Arrow arrays, in Spark's Python workers. Shipped by value: it must not import Penstock.

The workers need the packages pyarrow, which every Arrow UDF needs, and protobuf.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pyarrow as pa

__all__ = ["MessageTask", "WriterRule", "message_function"]

_WRAPPERS = "google.protobuf."
_TIMESTAMP = "google.protobuf.Timestamp"


@dataclass(frozen=True)
class WriterRule:
    """How payloads of one version begin: per form of message index the bytes that name the wanted message.

    ``strict``: a field that the reader has with another type would be dropped silently, so look for such fields.
    """

    indexes: tuple[tuple[bytes, ...], ...]
    strict: bool


@dataclass(frozen=True)
class MessageTask:
    """Serialized FileDescriptorProtos of the reader (each behind what it imports), the message, rules by version, the type.

    ``result`` is the Arrow type, a struct of ``body`` and ``tail``; ``good`` is the tail of a readable payload.
    """

    files: tuple[bytes, ...]
    message: str
    rules: dict[int, WriterRule]
    result: pa.StructType
    good: float
    has_required: bool


def message_function(task: MessageTask) -> Callable[[pa.Array, pa.Array, pa.Array], pa.Array]:
    """Return the function of payloads, versions and forms of message index to the struct of each payload."""
    parsers: list[_Parser] = []

    def decode(payloads: pa.Array, versions: pa.Array, forms: pa.Array) -> pa.Array:
        if not parsers:
            parsers.append(_parser(task))
        parse = parsers[0].parse
        rows = zip(payloads.to_pylist(), versions.to_pylist(), forms.to_pylist(), strict=True)
        return _result([parse(*row) for row in rows], task, parsers[0].descriptor)

    return decode


def _parser(task: MessageTask) -> "_Parser":
    # Here, because the driver may have neither a Protobuf schema nor the library.
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415
    from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415

    pool = DescriptorPool()
    for file in task.files:
        pool.Add(FileDescriptorProto.FromString(file))
    message_class = GetMessageClass(pool.FindMessageTypeByName(task.message))
    return _Parser(task, message_class, DecodeError, UnknownFieldSet)


class _Parser:
    """Payloads to messages of one class; None for a payload that is not one."""

    def __init__(
        self, task: MessageTask, message_class: Any, refusal: type[Exception], unknown: Callable[[Any], Any]
    ) -> None:
        self.descriptor = message_class.DESCRIPTOR
        self._from = message_class.FromString
        self._rules = task.rules
        self._has_required = task.has_required
        self._refusal = refusal
        self._unknown = unknown

    def parse(self, data: bytes | None, version: int, form: int) -> Any:
        rule = self._rules.get(version)
        if data is None or rule is None:
            return None
        index = next((chunk for chunk in rule.indexes[form] if data.startswith(chunk)), None)
        if index is None:
            return None
        try:
            message = self._from(data[len(index) :])
        except self._refusal:
            return None
        if (self._has_required and not message.IsInitialized()) or (rule.strict and self._drops(message)):
            return None
        return message

    def _drops(self, message: Any) -> bool:
        """Return whether a field that the reader knows was written as another type."""
        pending = [message]
        while pending:
            part = pending.pop()
            fields = part.DESCRIPTOR.fields_by_number
            if any(unknown.field_number in fields for unknown in self._unknown(part)):
                return True
            for field, value in part.ListFields():
                if _is_map(field):
                    if field.message_type.fields_by_name["value"].message_type is not None:
                        pending.extend(value.values())
                elif field.message_type is not None:
                    pending.extend(value if field.is_repeated else (value,))
        return False


def _result(messages: list[Any], task: MessageTask, descriptor: Any) -> pa.Array:
    data_type = task.result.field("body").type
    try:
        body = _struct(messages, descriptor, data_type)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        # One value that Arrow cannot hold, such as text that is not UTF-8: find whose it is.
        messages = [message if _fits(message, descriptor, data_type) else None for message in messages]
        body = _struct(messages, descriptor, data_type)
    tails = pa.array((None if message is None else task.good for message in messages), pa.float64())
    return pa.StructArray.from_arrays([body, tails], fields=list(task.result))


def _fits(message: Any, descriptor: Any, data_type: pa.DataType) -> bool:
    try:
        _struct([message], descriptor, data_type)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        return False
    return True


def _struct(messages: Sequence[Any], descriptor: Any, data_type: pa.StructType) -> pa.Array:
    """Return messages, None for a null, as an array of structs."""
    missing = [message is None for message in messages]
    fields = [_field(messages, descriptor.fields_by_name[item.name], item.type) for item in data_type]
    return pa.StructArray.from_arrays(fields, fields=list(data_type), mask=pa.array(missing, pa.bool_()))


def _field(messages: Sequence[Any], field: Any, data_type: pa.DataType) -> pa.Array:
    get = attrgetter(field.name)
    if _is_map(field):
        return _map(messages, get, field, data_type)
    if field.is_repeated:
        offsets, items = _flat([None if message is None else get(message) for message in messages])
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), _values(items, field, data_type.value_type), type=data_type
        )
    if field.has_presence:
        name = field.name
        values = [get(message) if message is not None and message.HasField(name) else None for message in messages]
    else:
        values = [None if message is None else get(message) for message in messages]
    return _values(values, field, data_type)


def _map(messages: Sequence[Any], get: Callable[[Any], Any], field: Any, data_type: pa.MapType) -> pa.Array:
    entry = field.message_type.fields_by_name
    maps = [None if message is None else get(message) for message in messages]
    offsets, keys = _flat(maps)
    values = [map_[key] for map_ in maps if map_ is not None for key in map_]
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()),
        _values(keys, entry["key"], data_type.key_type),
        _values(values, entry["value"], data_type.item_type),
    ).cast(data_type)


def _flat(lists: Iterable[Any]) -> tuple[list[int | None], list[Any]]:
    """Return offsets, null where there is no list, and all items."""
    offsets: list[int | None] = []
    items: list[Any] = []
    for list_ in lists:
        offsets.append(None if list_ is None else len(items))
        if list_ is not None:
            items.extend(list_)
    return [*offsets, len(items)], items


def _values(values: list[Any], field: Any, data_type: pa.DataType) -> pa.Array:
    """Return single values of a field's type, None for a null."""
    message = field.message_type
    if message is None:
        if field.enum_type is not None:
            names = {number: item.name for number, item in field.enum_type.values_by_number.items()}
            # An enum may be open: a number that this schema has no name for stays visible.
            return pa.array([None if item is None else names.get(item, str(item)) for item in values], data_type)
        return pa.array(values, data_type)
    if message.full_name == _TIMESTAMP:
        micros = [None if item is None else item.seconds * 1_000_000 + item.nanos // 1000 for item in values]
        return pa.array(micros, pa.int64()).cast(data_type)
    if not pa.types.is_struct(data_type) and message.full_name.startswith(_WRAPPERS):
        return pa.array([None if item is None else item.value for item in values], data_type)
    return _struct(values, message, data_type)


def _is_map(field: Any) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)

"""Values to Protobuf payloads: the message index, then the message, written by Google's library.

A value is a message of a generated (or any other) class, or a mapping as in Protobuf's JSON, with the definition's field
names as keys.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.schema.protobuf.model import ProtoTree
from penstock.schema.protobuf.render import render_file
from penstock.serdes.errors import IncompatibleValue, MissingField, PayloadTooLarge, UnknownField
from penstock.serdes.protobuf.decoder import ProtobufSchema, steps_of
from penstock.serdes.protobuf.fields import element, elements, is_map, messages_in
from penstock.serdes.protobuf.lossless import can_lose, loss, with_texts

__all__ = ["definition_of", "is_message", "protobuf_encoder"]

_NO_FIELD = re.compile(r'has no field named "([^"]*)"')
_REFUSALS = (ValueError, TypeError, KeyError, AttributeError)


def is_message(value: Any) -> bool:
    """Return whether ``value`` is a message of Google's library."""
    return hasattr(value, "DESCRIPTOR") and hasattr(value, "SerializeToString")


def definition_of(message: Any) -> str:
    """Return the .proto text of the file that defines a message (or its class), for the registry.

    Imported files keep their names, and the registry must know them.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415 - an extra's library

    files: dict[str, Any] = {}

    def add(file: Any) -> None:
        for imported in file.dependencies:
            add(imported)
        if file.name not in files:
            files[file.name] = FileDescriptorProto()
            file.CopyToProto(files[file.name])

    add(message.DESCRIPTOR.file)
    return render_file(ProtoTree(files=tuple(files.values())))


def protobuf_encoder(
    schema: ProtobufSchema,
    *,
    message: str | None = None,
    prefix: bytes = b"",
    ignore_unknown: bool = False,
    index: Callable[[str], bytes] | None = None,
) -> Callable[[Any], bytes]:
    """Return a function from a message, or a mapping, to ``prefix``, the message's index and its bytes.

    ``message`` is the full name of the type that mappings are written as, by default the definition's first. ``index`` makes
    the index of a message's full name, by default AWS's. Raise :class:`UnreadableSchema` for a name that the definition
    lacks. The function raises :class:`IncompatibleValue` or a subclass with the field's path.
    """
    from google.protobuf.message import EncodeError  # noqa: PLC0415 - an extra's library

    name = message or schema.first_name()
    message_class = schema.message(name)
    index_of = index or schema.index
    head = prefix + index_of(name)
    # The bytes in front, and whether Google's library always writes equal values as equal bytes.
    heads: dict[Any, tuple[bytes, bool]] = {message_class.DESCRIPTOR: (head, _has_order(message_class.DESCRIPTOR))}
    build = _builder(message_class, name, ignore_unknown=ignore_unknown)

    def encode(value: Any) -> bytes:
        message, head = value, heads.get(getattr(value, "DESCRIPTOR", None))
        if head is None:
            head, message = (
                (heads[message_class.DESCRIPTOR], build(value)) if isinstance(value, Mapping) else (learn(value), value)
            )
        try:
            if head[1]:
                return head[0] + message.SerializeToString()  # type: ignore[no-any-return]
            # Maps in the order of their keys.
            return head[0] + message.SerializeToString(deterministic=True)  # type: ignore[no-any-return]
        except EncodeError as error:
            raise _unfinished(message, name, error) from None
        except RecursionError:
            raise PayloadTooLarge(f"{name} nests too deep, so it cannot be written.") from None

    def learn(value: Any) -> tuple[bytes, bool]:
        if not is_message(value):
            raise IncompatibleValue(
                f"{name} is a {type(value).__name__}, expected a message or a mapping of its fields.", path=name
            )
        descriptor = value.DESCRIPTOR
        _check_known(schema, descriptor)
        heads[descriptor] = prefix + index_of(descriptor.full_name), _has_order(descriptor)
        return heads[descriptor]

    return encode


def _has_order(descriptor: Any) -> bool:
    """Return whether Google's library writes a message's fields in a fixed order: not with maps and extensions."""
    return not any(message.is_extendable or any(map(is_map, message.fields)) for message in messages_in(descriptor))


def _builder(message_class: Any, name: str, *, ignore_unknown: bool) -> Callable[[Mapping[str, Any]], Any]:
    from google.protobuf import json_format  # noqa: PLC0415 - an extra's library

    may_overflow, may_lose = _has_floats(message_class.DESCRIPTOR), can_lose(message_class.DESCRIPTOR)

    def build(value: Mapping[str, Any]) -> Any:
        lost = loss(value, message_class.DESCRIPTOR, name) if may_lose else None
        if lost is not None:
            raise lost
        try:
            # In C. It refuses forms that only Protobuf's JSON has, such as times as strings.
            message = message_class(**value)
            if not (may_overflow and _has_overflown(message)):
                return message
        except _REFUSALS:
            pass
        try:
            texts: Any = with_texts(value, message_class.DESCRIPTOR) if may_lose else value
            return json_format.ParseDict(texts, message_class(), ignore_unknown_fields=ignore_unknown)
        except (json_format.Error, *_REFUSALS, RecursionError) as error:
            raise _misfit(name, error) from None

    return build


def _unfinished(message: Any, name: str, error: Exception) -> IncompatibleValue:
    missing = message.FindInitializationErrors()
    if not missing:
        return IncompatibleValue(f"{name} cannot be written: {error}", path=name)
    where = f"{name}.{missing[0]}"
    return MissingField(f"{where} is missing: the schema requires it.", path=where)


def _misfit(name: str, error: BaseException) -> IncompatibleValue:
    path, rest = steps_of(name, error)
    unknown = _NO_FIELD.search(rest)
    if unknown is not None:
        path = f"{path}.{unknown[1]}"
        return UnknownField(
            f"{path} is not a field of the schema, so its value would be lost.",
            path=path,
            remedy="Register a version that has the field, drop it from the value, or set ignore_unknown_fields.",
        )
    return IncompatibleValue(f"{path} does not fit its schema: {rest}", path=path)


def _check_known(schema: ProtobufSchema, descriptor: Any) -> None:
    """Refuse a class with fields that the registered definition lacks or types differently: readers would lose them."""
    names: set[str] = set()
    pending = [descriptor]
    while pending:
        mine = pending.pop()
        if mine.full_name in names:
            continue
        names.add(mine.full_name)
        theirs = schema.descriptor(mine.full_name)
        for field in mine.fields:
            other = theirs.fields_by_number.get(field.number)
            path = f"{mine.full_name}.{field.name}"
            if other is None:
                raise UnknownField(
                    f"{path} ({field.number}) is not a field of the schema to write with, so its value would be lost.",
                    path=path,
                    remedy="Register the definition of the message's class, or write with the class of this version.",
                )
            if (other.type, other.is_repeated) != (field.type, field.is_repeated):
                raise IncompatibleValue(
                    f"{path} ({field.number}) has another type in the registered schema.",
                    path=path,
                    remedy="Register the definition of the message's class, or write with the class of this version.",
                )
            if field.message_type is not None:
                pending.append(field.message_type)


def _has_floats(descriptor: Any) -> bool:
    """Return whether a message of this type can hold a 32-bit float."""
    return any(field.type == field.TYPE_FLOAT for message in messages_in(descriptor) for field in message.fields)


def _has_overflown(message: Any) -> bool:
    """Return whether a 32-bit float is infinite: Google's library stores that for a number that one cannot hold."""
    for field, value in message.ListFields():
        element_field = element(field)
        if element_field.type == element_field.TYPE_FLOAT:
            if any(map(math.isinf, elements(field, value))):
                return True
        elif element_field.message_type is not None and any(map(_has_overflown, elements(field, value))):
            return True
    return False

"""Floats of 32 bits in Protobuf messages: Google's library fills them with infinity for numbers that they cannot hold."""

import math
from collections.abc import Iterable
from typing import Any

from penstock.serdes.protobuf.decoder import messages_in

__all__ = ["has_floats", "has_overflown"]


def has_floats(descriptor: Any) -> bool:
    """Whether a message of this type can hold a float of 32 bits."""
    return any(field.type == field.TYPE_FLOAT for message in messages_in(descriptor) for field in message.fields)


def has_overflown(message: Any) -> bool:
    """Whether one of its floats of 32 bits is infinite."""
    for field, value in message.ListFields():
        if any(map(math.isinf, _floats_in(field, value))):
            return True
        if field.message_type is not None and any(map(has_overflown, _messages_in(field, value))):
            return True
    return False


def _floats_in(field: Any, value: Any) -> Iterable[float]:
    if field.type == field.TYPE_FLOAT:
        return value if field.is_repeated else (value,)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        inner = field.message_type.fields_by_name["value"]
        return value.values() if inner.type == inner.TYPE_FLOAT else ()
    return ()


def _messages_in(field: Any, value: Any) -> Iterable[Any]:
    if not field.is_repeated:
        return (value,)
    if not field.message_type.GetOptions().map_entry:
        return tuple(value)
    inner = field.message_type.fields_by_name["value"]
    if inner.message_type is not None:
        return tuple(value.values())
    return ()

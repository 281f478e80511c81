"""32-bit floats in Protobuf messages: Google's library stores infinity for a number that they cannot hold."""

import math
from typing import Any

from penstock.serdes.protobuf.fields import element, elements, messages_in

__all__ = ["has_floats", "has_overflown"]


def has_floats(descriptor: Any) -> bool:
    """Return whether a message of this type can hold a 32-bit float."""
    return any(field.type == field.TYPE_FLOAT for message in messages_in(descriptor) for field in message.fields)


def has_overflown(message: Any) -> bool:
    """Return whether one of the message's 32-bit floats is infinite."""
    for field, value in message.ListFields():
        element_field = element(field)
        if element_field.type == element_field.TYPE_FLOAT:
            if any(map(math.isinf, elements(field, value))):
                return True
        elif element_field.message_type is not None and any(map(has_overflown, elements(field, value))):
            return True
    return False

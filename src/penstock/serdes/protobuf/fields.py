"""The parts of a Protobuf message by Google's descriptors: the messages in it, and the elements of its fields."""

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["element", "elements", "is_map", "messages_in"]


def messages_in(descriptor: Any) -> Iterator[Any]:
    """Yield the descriptors of a message and of all messages that it can hold, each once."""
    visited, pending = set(), [descriptor]
    while pending:
        message = pending.pop()
        if message.full_name not in visited:
            visited.add(message.full_name)
            yield message
            pending.extend(field.message_type for field in message.fields if field.message_type is not None)


def is_map(field: Any) -> bool:
    """Return whether a field is a ``map<K, V>``."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def element(field: Any) -> Any:
    """Return the field that has the type of the :func:`elements`: a map's value field, otherwise the field itself."""
    return field.message_type.fields_by_name["value"] if is_map(field) else field


def elements(field: Any, value: Any) -> Iterable[Any]:
    """Return a map's values, a repeated field's items, or the single value of another field."""
    if is_map(field):
        return value.values()  # type: ignore[no-any-return]
    return value if field.is_repeated else (value,)

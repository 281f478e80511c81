"""What a Protobuf message is made of, by Google's descriptors: the messages in it, the elements of its fields."""

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["element", "elements", "is_map", "messages_in"]


def messages_in(descriptor: Any) -> Iterator[Any]:
    """The descriptors of a message and of all messages that it can hold, each once."""
    seen, pending = set(), [descriptor]
    while pending:
        message = pending.pop()
        if message.full_name not in seen:
            seen.add(message.full_name)
            yield message
            pending.extend(field.message_type for field in message.fields if field.message_type is not None)


def is_map(field: Any) -> bool:
    """Whether a field is a ``map<K, V>``."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def element(field: Any) -> Any:
    """The field that says the type of each of :func:`elements`: that of a map's values, else the field itself."""
    return field.message_type.fields_by_name["value"] if is_map(field) else field


def elements(field: Any, value: Any) -> Iterable[Any]:
    """A map's values, a repeated field's items, or the one value of any other."""
    if is_map(field):
        return value.values()  # type: ignore[no-any-return]
    return value if field.is_repeated else (value,)

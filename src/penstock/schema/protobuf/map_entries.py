"""Messages that a text marks as map entries, made into real ones.

What ``map<K, V> name = 1;`` stands for is a nested message ``NameEntry`` with ``key = 1`` and ``value = 2`` and a repeated
field of it. Java's clients render that message itself, with ``option map_entry = true``.
"""

from typing import Any

from penstock.schema.errors import InvalidSchema
from penstock.schema.protobuf.model import REPEATED, REQUIRED, TYPE_GROUP, messages_of

__all__ = ["restore_map_entries"]

_KEYS = frozenset({3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 18})  # integers, bool and string


def restore_map_entries(file: Any, marker: str) -> None:
    """Turn each message of ``file`` that reserves the name ``marker`` into the entry of a map field, in place."""
    messages = {message.full_name: message.proto for message in messages_of(file)}
    # By the message around, since each may have thousands of entries and fields.
    used: dict[str, dict[str, list[Any]]] = {}
    for full_name, message in messages.items():
        if marker not in message.reserved_name:
            continue
        owner = full_name.rpartition(".")[0]
        if owner not in used:
            used[owner] = _by_type(messages.get(owner))
        users = used[owner].get(f".{full_name}", [])
        problem = _wrong(message, users, marker)
        if problem:
            raise InvalidSchema(
                f"The message {full_name} is marked as a map entry, but {problem}.",
                remedy="Write the field as map<key, value>, or drop the option map_entry.",
            )
        message.ClearField("reserved_name")
        # proto3's "optional" on a part: a presence that entries have anyway.
        message.ClearField("oneof_decl")
        for field in message.field:
            field.ClearField("oneof_index")
            field.ClearField("proto3_optional")
        message.options.map_entry = True


def _by_type(message: Any) -> dict[str, list[Any]]:
    by_type: dict[str, list[Any]] = {}
    for field in message.field if message is not None else ():
        by_type.setdefault(field.type_name, []).append(field)
    return by_type


def _wrong(message: Any, users: list[Any], marker: str) -> str | None:
    """Return why ``message`` is not a map entry (descriptor.cc's ValidateMapEntry), or None."""
    parts = {field.number: field for field in message.field}
    key, value = parts.get(1), parts.get(2)
    if len(users) != 1 or users[0].label != REPEATED:
        return "not exactly one repeated field beside it is of that type"
    if len(message.field) != 2 or key is None or value is None or (key.name, value.name) != ("key", "value"):
        return "its fields are not key = 1 and value = 2"
    name = "".join(part[:1].upper() + part[1:] for part in users[0].name.split("_")) + "Entry"
    extra = (message.nested_type, message.enum_type, message.extension, message.extension_range, message.reserved_range)
    rules = (
        (message.name == name, f"its name is not {name}, after the field {users[0].name}"),
        (key.type in _KEYS, "its key is not an integer, a bool or a string"),
        (value.type != TYPE_GROUP, "its value is a group"),
        (not {REQUIRED, REPEATED} & {key.label, value.label}, "its key or its value is required or repeated"),
        (not any(extra) and list(message.reserved_name) == [marker], "it declares more than its two fields"),
        (
            not any(field.HasField("default_value") or field.HasField("options") for field in (key, value)),
            "its fields have options",
        ),
    )
    return next((text for holds, text in rules if not holds), None)

"""Checks for values that Google's library would silently drop or change: a oneof's other fields, false base64, bytes."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from penstock.serdes.errors import IncompatibleValue
from penstock.serdes.protobuf.fields import element, elements, is_map, messages_in

__all__ = ["can_lose", "loss", "with_texts"]

_URL_SAFE = str.maketrans("-_", "+/")


def can_lose(descriptor: Any) -> bool:
    """Return whether a message of this type has a oneof of several fields, or bytes, which mappings may hold as strings."""
    return any(
        any(len(one.fields) > 1 for one in message.oneofs) or any(field.type == field.TYPE_BYTES for field in message.fields)
        for message in messages_in(descriptor)
    )


def loss(value: Any, descriptor: Any, path: str) -> IncompatibleValue | None:
    """Return the error for the first part of the mapping ``value`` that would be lost, or ``None`` if none would."""
    chosen: dict[str, str] = {}
    for _, field, member in _members(value, descriptor):
        where = f"{path}.{field.name}"
        one = field.containing_oneof
        if one is not None and chosen.setdefault(one.name, field.name) != field.name:
            return IncompatibleValue(
                f"{where} is given together with {chosen[one.name]}, and the oneof {one.name} holds only one of them.",
                path=where,
            )
        if not _is_container(field, member):
            continue
        element_field = element(field)
        first = next(
            (lost for part in elements(field, member) if (lost := _part(part, element_field, where)) is not None), None
        )
        if first is not None:
            return first
    return None


def with_texts(value: Any, descriptor: Any) -> Any:
    """Return ``value`` with bytes as base64 text, as in Protobuf's JSON, whose reader would take bytes for base64 too."""
    texts = _members(value, descriptor)
    message = dict(value) if texts else value
    for name, field, member in texts:
        element_field = element(field)
        if not _is_container(field, member):
            continue
        if is_map(field):
            message[name] = {key: _with_text(part, element_field) for key, part in member.items()}
        elif field.is_repeated:
            message[name] = [_with_text(part, element_field) for part in member]
        else:
            message[name] = _with_text(member, element_field)
    return message


def _members(value: Any, descriptor: Any) -> list[tuple[str, Any, Any]]:
    """Return the keys of a mapping that are fields, with field and value; nothing for well-known types."""
    if descriptor.full_name.startswith("google.protobuf.") or not isinstance(value, Mapping):
        return []
    texts = []
    for name, member in value.items():
        field = descriptor.fields_by_name.get(name) or descriptor.fields_by_camelcase_name.get(name)
        if field is not None and member is not None:
            texts.append((name, field, member))
    return texts


def _is_container(field: Any, value: Any) -> bool:
    """Return whether ``value`` can hold the field's elements; the library reports what is wrong with other values."""
    if is_map(field):
        return isinstance(value, Mapping)
    return isinstance(value, list | tuple) if field.is_repeated else True


def _with_text(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return with_texts(value, field.message_type)
    if field.type == field.TYPE_BYTES and isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return value


def _part(value: Any, field: Any, path: str) -> IncompatibleValue | None:
    if field.message_type is not None:
        return loss(value, field.message_type, path)
    if field.type == field.TYPE_BYTES and isinstance(value, str) and not _is_base64(value):
        return IncompatibleValue(f"{path} is a string that is not base64, expected bytes.", path=path)
    return None


def _is_base64(text: str) -> bool:
    plain = text.translate(_URL_SAFE).rstrip("=")
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True

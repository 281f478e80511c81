"""What Google's library would drop or change of a mapping without a word: a oneof's other fields, false base64, bytes."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.serdes.errors import IncompatibleValue
from penstock.serdes.protobuf.decoder import messages_in

__all__ = ["can_lose", "loss", "with_texts"]

_URL_SAFE = str.maketrans("-_", "+/")


def can_lose(descriptor: Any) -> bool:
    """Whether a message of this type has a oneof with a choice, or bytes, which mappings may write as texts."""
    return any(
        any(len(one.fields) > 1 for one in message.oneofs) or any(field.type == field.TYPE_BYTES for field in message.fields)
        for message in messages_in(descriptor)
    )


def loss(value: Any, descriptor: Any, path: str) -> IncompatibleValue | None:
    """The error for the first part of ``value``, a mapping, that would be dropped; ``None`` where nothing is."""
    if descriptor.full_name.startswith("google.protobuf.") or not isinstance(value, Mapping):
        return None  # well-known types have forms of their own
    chosen: dict[str, str] = {}
    for name, item in value.items():
        field = descriptor.fields_by_name.get(name) or descriptor.fields_by_camelcase_name.get(name)
        if field is None or item is None:
            continue
        where = f"{path}.{field.name}"
        one = field.containing_oneof
        if one is not None and chosen.setdefault(one.name, field.name) != field.name:
            return IncompatibleValue(
                f"{where} is given beside {chosen[one.name]}, and the oneof {one.name} holds one of them.", path=where
            )
        found = next((lost for part, kind in _parts(field, item) if (lost := _part(part, kind, where)) is not None), None)
        if found is not None:
            return found
    return None


def with_texts(value: Any, descriptor: Any) -> Any:
    """``value`` with its bytes as texts, as Protobuf's JSON has them: its reader takes bytes for base64 too."""
    if descriptor.full_name.startswith("google.protobuf.") or not isinstance(value, Mapping):
        return value
    made = dict(value)
    for name, item in value.items():
        field = descriptor.fields_by_name.get(name) or descriptor.fields_by_camelcase_name.get(name)
        if field is None or item is None:
            continue
        if field.is_repeated and isinstance(item, Mapping) and field.message_type is not None:
            kind = field.message_type.fields_by_name["value"]
            made[name] = {key: _with_text(part, kind) for key, part in item.items()}
        elif field.is_repeated and isinstance(item, list | tuple):
            made[name] = [_with_text(part, field) for part in item]
        else:
            made[name] = _with_text(item, field)
    return made


def _with_text(value: Any, field: Any) -> Any:
    if field.message_type is not None:
        return with_texts(value, field.message_type)
    if field.type == field.TYPE_BYTES and isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return value


def _parts(field: Any, item: Any) -> Iterator[tuple[Any, Any]]:
    """Each value of a field with the field that says its type, which for a map's is that of the map's values."""
    if not field.is_repeated:
        yield item, field
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        if isinstance(item, Mapping):
            for part in item.values():
                yield part, field.message_type.fields_by_name["value"]
    elif isinstance(item, list | tuple):
        for part in item:
            yield part, field


def _part(value: Any, field: Any, path: str) -> IncompatibleValue | None:
    if field.message_type is not None:
        return loss(value, field.message_type, path)
    if field.type == field.TYPE_BYTES and isinstance(value, str) and not _is_base64(value):
        return IncompatibleValue(f"{path} is a text that is no base64, expected bytes.", path=path)
    return None


def _is_base64(text: str) -> bool:
    plain = text.translate(_URL_SAFE).rstrip("=")
    try:
        base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True

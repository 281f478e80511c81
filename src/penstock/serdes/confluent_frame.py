"""Confluent's frames: ``00 | 4-byte id | payload``, ``01 | 16-byte GUID | payload``, or either prefix as a record header.

Sources: https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format, and
the output of confluent-kafka's own serialisers.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from penstock.serdes.errors import NotFramed, TruncatedFrame

__all__ = [
    "KEY_HEADER",
    "VALUE_HEADER",
    "Headers",
    "SchemaId",
    "header_of",
    "is_confluent",
    "prefix",
    "prefix_size",
    "split",
]

KEY_HEADER = "__key_schema_id"
VALUE_HEADER = "__value_schema_id"

SchemaId = int | UUID
"""Confluent's id of a schema in a registry, or its GUID."""

Headers = Sequence[tuple[str, Any]] | Mapping[str, Any]
"""A record's headers, as confluent-kafka gives them."""

_BY_ID = 0
_BY_GUID = 1
_SIZES = {_BY_ID: 5, _BY_GUID: 17}


def is_confluent(data: bytes) -> bool:
    """Return whether the first byte is that of one of Confluent's frames. In AWS's frame it is 3."""
    return len(data) > 0 and data[0] in _SIZES


def prefix(schema_id: SchemaId) -> bytes:
    """Return the bytes that go in front of a payload, or in a record header."""
    if isinstance(schema_id, UUID):
        return bytes((_BY_GUID,)) + schema_id.bytes
    return bytes((_BY_ID,)) + schema_id.to_bytes(4, "big")


def prefix_size(data: bytes) -> int:
    """Return the size in bytes of the prefix of ``data``, for which :func:`is_confluent` must be true."""
    return _SIZES[data[0]]


def split(data: bytes) -> SchemaId:
    """Return the id in front of a payload. Raise :class:`NotFramed` or :class:`TruncatedFrame`."""
    if not is_confluent(data):
        first = f"the byte {data[0]}" if data else "nothing"
        raise NotFramed(
            f"The prefix with the schema's id begins with {first}.",
            remedy="It is not Confluent's frame, which begins with byte 0 (id) or 1 (GUID).",
        )
    size = prefix_size(data)
    if len(data) < size:
        raise TruncatedFrame(
            f"A message of {len(data)} bytes is too short for Confluent's frame, which has {size} bytes before its payload."
        )
    return int.from_bytes(data[1:size], "big") if data[0] == _BY_ID else UUID(bytes=bytes(data[1:size]))


def header_of(headers: Headers | None, *, key: bool = False) -> bytes | None:
    """Return the record header that names the schema of the value, or of the key; the first if there are several."""
    if not headers:
        return None
    name = KEY_HEADER if key else VALUE_HEADER
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    header = next((value for header_name, value in pairs if header_name == name), None)
    return header.encode() if isinstance(header, str) else header

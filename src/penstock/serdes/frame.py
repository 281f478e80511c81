"""The frame around every payload: ``03 | 00 or 05 | 16 bytes of schema version id | payload``; pure functions.

``05`` means that the payload alone is one zlib stream. Source: awslabs/aws-glue-schema-registry,
``AWSSchemaRegistryConstants``, and measured against its published serde 1.1.27.
"""

import zlib
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from penstock.serdes.errors import CorruptCompression, NotFramed, PayloadTooLarge, TruncatedFrame

__all__ = [
    "DEFAULT_MAX_PAYLOAD",
    "HEADER_SIZE",
    "Compression",
    "Frame",
    "decode",
    "encode",
    "header",
    "inflate",
    "is_framed",
    "split",
    "whole_bytes",
]

HEADER_SIZE = 18
HEADER_VERSION = 3
DEFAULT_MAX_PAYLOAD = 64 * 1024 * 1024  # bytes after inflation


class Compression(Enum):
    """How a payload is compressed; the value is the frame's second byte."""

    NONE = 0
    ZLIB = 5


_COMPRESSIONS = frozenset(item.value for item in Compression)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A frame taken apart; ``payload`` is inflated."""

    version_id: UUID
    compression: Compression
    payload: bytes


def header(version_id: UUID, compression: Compression = Compression.NONE) -> bytes:
    """The 18 bytes in front of a payload."""
    return bytes((HEADER_VERSION, compression.value)) + version_id.bytes


def encode(version_id: UUID, payload: bytes, compression: Compression = Compression.NONE) -> bytes:
    """A whole message; zlib at its default level, as AWS's serialiser does it."""
    body = zlib.compress(payload) if compression is Compression.ZLIB else payload
    return header(version_id, compression) + body


def is_framed(data: bytes) -> bool:
    """Whether AWS's deserialiser takes ``data`` for its own; what it does not goes to its secondary deserialiser."""
    return len(data) >= HEADER_SIZE and data[0] == HEADER_VERSION and data[1] in _COMPRESSIONS


def whole_bytes(data: Any) -> bytes:
    """What a client gave as a message as bytes; :class:`NotFramed` for what is none, such as a text."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise NotFramed(
        f"A message is bytes, not a {type(data).__name__}.",
        remedy="Give what the consumer received, before anything decoded it.",
    )


def split(data: bytes) -> tuple[Compression, UUID]:
    """Compression and version id of a message, its header checked.

    Raises :class:`TruncatedFrame` and :class:`NotFramed` in the words of AWS's deserialiser.
    """
    if len(data) < HEADER_SIZE:
        raise TruncatedFrame(
            f"Data is not compatible with schema registry size: {len(data)}",
            remedy=f"A message needs at least {HEADER_SIZE} bytes in front of its payload.",
        )
    if data[0] != HEADER_VERSION:
        raise NotFramed(
            f"Invalid schema registry header version byte in data: {data[0]}",
            remedy="It was written by another serialiser: a Glue Schema Registry message starts with byte 3.",
        )
    if data[1] == Compression.NONE.value:
        return Compression.NONE, UUID(bytes=data[2:HEADER_SIZE])
    if data[1] == Compression.ZLIB.value:
        return Compression.ZLIB, UUID(bytes=data[2:HEADER_SIZE])
    raise NotFramed(
        f"Invalid schema registry compression byte in data: {data[1]}",
        remedy="The second byte has to be 0 (none) or 5 (zlib).",
    )


def decode(data: bytes, *, max_payload: int = DEFAULT_MAX_PAYLOAD) -> Frame:
    """Take a message apart; raises what :func:`split` and :func:`inflate` raise."""
    compression, version_id = split(data)
    body = data[HEADER_SIZE:]
    payload = inflate(body, max_payload=max_payload) if compression is Compression.ZLIB else body
    return Frame(version_id=version_id, compression=compression, payload=payload)


def inflate(body: bytes, *, max_payload: int = DEFAULT_MAX_PAYLOAD) -> bytes:
    """Inflate one zlib stream of at most ``max_payload`` bytes.

    Raises :class:`CorruptCompression` for a damaged or cut stream or bytes after it, :class:`PayloadTooLarge` beyond the
    limit; never allocates much more than the limit.
    """
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(body, max_payload + 1)
    except zlib.error as error:
        raise CorruptCompression(f"Payload of {len(body)} bytes is no zlib stream: {error}.") from None
    if len(payload) > max_payload:
        raise PayloadTooLarge(
            f"Payload of {len(body)} bytes inflates to more than {max_payload} bytes.",
            remedy="Give the deserialiser limits=Limits(payload=...) if messages of this size are expected.",
        )
    if not inflater.eof:
        raise CorruptCompression(f"Payload of {len(body)} bytes is a zlib stream that is cut off.")
    if inflater.unused_data:
        raise CorruptCompression(f"Payload has {len(inflater.unused_data)} bytes after its zlib stream.")
    return payload

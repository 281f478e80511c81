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
    "message_bytes",
    "split",
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
    """Return the 18 bytes in front of a payload."""
    return bytes((HEADER_VERSION, compression.value)) + version_id.bytes


def encode(version_id: UUID, payload: bytes, compression: Compression = Compression.NONE) -> bytes:
    """Return a payload as a message with its frame; zlib runs at its default level, as in AWS's serialiser."""
    body = zlib.compress(payload) if compression is Compression.ZLIB else payload
    return header(version_id, compression) + body


def is_framed(data: bytes) -> bool:
    """Return whether AWS's deserialiser reads ``data`` itself; anything else goes to its secondary deserialiser."""
    return len(data) >= HEADER_SIZE and data[0] == HEADER_VERSION and data[1] in _COMPRESSIONS


def message_bytes(data: Any) -> bytes:
    """Return a message as ``bytes``. Raise :class:`NotFramed` for anything that is not bytes, such as a string."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise NotFramed(
        f"A message must be bytes, not a {type(data).__name__}.",
        remedy="Pass the bytes that the consumer received, before anything decodes them.",
    )


def split(data: bytes) -> tuple[Compression, UUID]:
    """Return the compression and the version id of a message.

    Raise :class:`TruncatedFrame` or :class:`NotFramed` with the messages of AWS's deserialiser.
    """
    if len(data) < HEADER_SIZE:
        raise TruncatedFrame(
            f"Data is not compatible with schema registry size: {len(data)}",
            remedy=f"A message needs at least {HEADER_SIZE} bytes in front of its payload.",
        )
    if data[0] != HEADER_VERSION:
        raise NotFramed(
            f"Invalid schema registry header version byte in data: {data[0]}",
            remedy="Another serialiser wrote it: a message of the Glue Schema Registry starts with byte 3.",
        )
    if data[1] == Compression.NONE.value:
        return Compression.NONE, UUID(bytes=data[2:HEADER_SIZE])
    if data[1] == Compression.ZLIB.value:
        return Compression.ZLIB, UUID(bytes=data[2:HEADER_SIZE])
    raise NotFramed(
        f"Invalid schema registry compression byte in data: {data[1]}",
        remedy="The second byte must be 0 (none) or 5 (zlib).",
    )


def decode(data: bytes, *, max_payload: int = DEFAULT_MAX_PAYLOAD) -> Frame:
    """Split a message into id, compression and inflated payload. Raise the errors of :func:`split` and :func:`inflate`."""
    compression, version_id = split(data)
    body = data[HEADER_SIZE:]
    payload = inflate(body, max_payload=max_payload) if compression is Compression.ZLIB else body
    return Frame(version_id=version_id, compression=compression, payload=payload)


def inflate(body: bytes, *, max_payload: int = DEFAULT_MAX_PAYLOAD) -> bytes:
    """Inflate one zlib stream of at most ``max_payload`` bytes.

    Raise :class:`CorruptCompression` for a damaged or cut stream or bytes after it, and :class:`PayloadTooLarge` beyond the
    limit. Never allocate much more than the limit.
    """
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(body, max_payload + 1)
    except zlib.error as error:
        raise CorruptCompression(f"Payload of {len(body)} bytes is not a zlib stream: {error}.") from None
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

"""Files that are small and say that they are large."""

import io
import json
import zlib
from typing import Any

import fastavro

SYNC = b"0123456789abcdef"
EMPTY = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]}


def varint(value: int) -> bytes:
    """A number in Avro's encoding."""
    zigzag, found = (value << 1) ^ (value >> 63), bytearray()
    while zigzag >= 0x80:
        found.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*found, zigzag])


def avro_file(schema: Any, *blocks: tuple[int, bytes], codec: str = "null") -> bytes:
    """An Avro file of blocks: the number of records that each states, and its bytes as they are stored."""
    head = b"Obj\x01" + varint(2)
    for name, value in (("avro.schema", json.dumps(schema).encode()), ("avro.codec", codec.encode())):
        head += varint(len(name)) + name.encode() + varint(len(value)) + value
    head += varint(0) + SYNC
    return head + b"".join(varint(count) + varint(len(data)) + data + SYNC for count, data in blocks)


def deflated(size: int) -> bytes:
    """A block that inflates to ``size`` zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(bytes(size)) + packer.flush()


def avro_written(schema: Any, rows: list[Any], codec: str) -> bytes:
    """A file as fastavro writes it."""
    file = io.BytesIO()
    fastavro.writer(file, schema, rows, codec=codec, sync_interval=100)
    return file.getvalue()

"""The blocks of Avro files from outside, read within bounds: nothing is inflated or decoded before its size is known.

fastavro inflates each block whole, and believes the number of records that a block states: a file of 113 bytes may state
two thousand million records without bytes.

Source: Avro specification 1.12, "Object Container Files".
"""

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import fastavro

__all__ = ["AvroBlocks", "AvroFileError", "read_rows"]

_MAGIC = b"Obj\x01"
_MOST_METADATA = 16 * 1024 * 1024
_SYNC = 16
_MOST_LEVELS = 100


class AvroFileError(ValueError):
    """The file is not a whole Avro file, or has more than its reader accepts."""


@dataclass(frozen=True, slots=True)
class _Block:
    records: int
    at: int
    size: int


class AvroBlocks:
    """The metadata and blocks of an open file; raises :class:`AvroFileError`, also while blocks are listed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        file.seek(0)
        if file.read(len(_MAGIC)) != _MAGIC:
            raise AvroFileError("does not begin as an Avro file")
        self.metadata: Mapping[str, bytes] = self._metadata()
        self._sync = self._exactly(_SYNC)

    @property
    def schema(self) -> Any:
        """The JSON value of the schema."""
        try:
            return json.loads(self.metadata["avro.schema"])
        except (KeyError, ValueError, RecursionError):
            raise AvroFileError("has no schema") from None

    def __iter__(self) -> Iterator[_Block]:
        while self._file.tell() < self._size:
            records, size = self._varint(), self._varint()
            at = self._file.tell()
            if records < 0 or size < 0 or at + size + _SYNC > self._size:
                raise AvroFileError(f"is damaged or cut off at byte {at}")
            yield _Block(records, at, size)
            self._file.seek(at + size)
            if self._exactly(_SYNC) != self._sync:
                raise AvroFileError(f"is damaged at byte {at + size}")

    def inflated(self, block: _Block, most: int) -> bytes:
        """Return a block's bytes; raise :class:`AvroFileError` if there are more than ``most``."""
        codec = self.metadata.get("avro.codec", b"null")
        self._file.seek(block.at)
        stored = self._exactly(block.size)
        try:
            if codec == b"null":
                data = stored
            elif codec == b"deflate":
                data = zlib.decompressobj(-15).decompress(stored, most + 1)
            else:
                data = _inflated(codec.decode("latin-1"), stored, most)
        except AvroFileError:
            raise
        except (zlib.error, OSError, ValueError) as error:
            raise AvroFileError(f"is damaged: {error}") from None
        if len(data) > most:
            raise AvroFileError(f"has more than {most:,} bytes in a block")
        return data

    def _metadata(self) -> Mapping[str, bytes]:
        metadata: dict[str, bytes] = {}
        while count := self._varint():
            if count < 0:
                self._varint()
            for _ in range(abs(count)):
                name = self._text()
                metadata[name.decode("utf-8", "replace")] = self._text()
                if self._file.tell() > _MOST_METADATA:
                    raise AvroFileError(f"has more than {_MOST_METADATA:,} bytes of metadata")
        return metadata

    def _text(self) -> bytes:
        size = self._varint()
        if not 0 <= size <= _MOST_METADATA:
            raise AvroFileError("has metadata of a size that cannot be")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        content = self._file.read(size)
        if len(content) != size:
            raise AvroFileError("is cut off")
        return content

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._exactly(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise AvroFileError(f"has a number of more than ten bytes before byte {self._file.tell()}")


def read_rows(file: BinaryIO, *, most_bytes: int) -> Iterator[Any]:
    """Yield the records of a file whose records all have bytes.

    Raises :class:`AvroFileError` if it inflates to more than ``most_bytes``, has records without bytes, or a schema of
    records within themselves.
    """
    blocks = AvroBlocks(file)
    # fastavro reads nested values recursively in C, whose stack a file could fill.
    _check_nesting(blocks.schema, ())
    try:
        schema = fastavro.parse_schema(blocks.schema)
    except Exception as error:  # noqa: BLE001 fastavro raises errors of several kinds for a schema that is not one
        raise AvroFileError(f"has no readable schema: {error}") from None
    left = most_bytes
    for block in blocks:
        data = blocks.inflated(block, left)
        left -= len(data)
        if block.records > len(data):
            raise AvroFileError("has records without bytes")
        source = io.BytesIO(data)
        for _ in range(block.records):
            yield fastavro.schemaless_reader(source, schema, None)


def _check_nesting(schema: Any, around: tuple[str, ...]) -> None:
    if isinstance(schema, str) and schema and schema in around:
        raise AvroFileError("has a schema of records within themselves")
    if len(around) > _MOST_LEVELS:
        raise AvroFileError(f"has a schema of more than {_MOST_LEVELS} levels")
    named = isinstance(schema, dict) and schema.get("type") in ("record", "error")
    inner = (*around, str(schema.get("name")).rpartition(".")[2] if named else "")
    if isinstance(schema, list):
        for branch in schema:
            _check_nesting(branch, inner)
    elif isinstance(schema, dict):
        for part in ("type", "items", "values"):
            if isinstance(schema.get(part), dict | list | str):
                # Namespaces are ignored: the files that this refuses in addition are not manifests.
                part_kind = schema[part]
                _check_nesting(part_kind.rpartition(".")[2] if isinstance(part_kind, str) else part_kind, inner)
        for field in schema.get("fields") or ():
            _check_nesting(field, (*inner, ""))


def _inflated(codec: str, stored: bytes, most: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and rarely needed

    if codec == "zstandard":
        with pa.input_stream(io.BytesIO(stored), compression="zstd") as source:
            return bytes(source.read(most + 1))
    if codec == "snappy":
        size = shift = 0
        for byte in stored[:5]:
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if size > most:
            raise AvroFileError(f"has more than {most:,} bytes in a block")
        # A block ends with its checksum (CRC-32, big-endian), which the rows' reader does not need.
        return bytes(pa.decompress(stored[:-4], decompressed_size=size, codec="snappy", asbytes=True))
    raise AvroFileError(f"is compressed with {codec[:50]}, which is not read here")

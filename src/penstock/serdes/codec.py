"""Whole messages: a value to a frame with its schema's version id, and back; independent of Kafka's client.

Built once per schema version and kept: afterwards a message costs one dictionary lookup and one call into fastavro.
"""

import zlib
from collections.abc import Callable
from threading import Lock
from typing import Any
from uuid import UUID

from penstock.errors import NotFound
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro import AvroSchema, AvroSchemas, decoder, encoder
from penstock.serdes.errors import UnknownWriterSchema, UnreadableSchema
from penstock.serdes.frame import HEADER_SIZE, Compression, header, inflate, split
from penstock.serdes.ports import SchemaSource
from penstock.serdes.shape import Limits

__all__ = ["MessageReader", "MessageWriter", "message_writer"]

MessageWriter = Callable[[Any], bytes]
"""A function from a value to a whole message."""


def message_writer(
    version_id: UUID,
    schema: AvroSchema,
    *,
    compression: Compression = Compression.NONE,
    ignore_unknown: bool = False,
) -> MessageWriter:
    """A function that writes values of ``schema`` as messages of version ``version_id``.

    It raises what :func:`penstock.serdes.avro.encoder` says.
    """
    head = header(version_id, compression)
    if compression is Compression.NONE:
        return encoder(schema, prefix=head, ignore_unknown=ignore_unknown)
    encode = encoder(schema, ignore_unknown=ignore_unknown)
    compress = zlib.compress
    return lambda value: head + compress(encode(value))


class MessageReader:
    """Reads messages of any version that ``source`` knows; safe for threads.

    With ``reader_schema`` every value is resolved to that definition, whatever it was written with. At most ``cache_size``
    versions stay prepared. ``limits`` bound what a hostile message may cost.
    """

    def __init__(
        self,
        source: SchemaSource,
        *,
        reader_schema: str | None = None,
        cache_size: int = 200,
        limits: Limits | None = None,
        schemas: AvroSchemas | None = None,
    ) -> None:
        self._source = source
        self._schemas = schemas or AvroSchemas(cache_size)
        self._reader = self._schemas.parse(reader_schema) if reader_schema is not None else None
        self._limits = limits or Limits()
        self._size = cache_size
        self._by_header: dict[bytes, Callable[[bytes], Any]] = {}
        self._lock = Lock()

    def read(self, data: bytes | None) -> Any:
        """The value of a message; ``None`` for a tombstone.

        Raises a :class:`~penstock.serdes.errors.SerdeError`, and what the source raises when the registry cannot be asked.
        """
        if data is None:
            return None
        decode = self._by_header.get(data[:HEADER_SIZE])
        return decode(data) if decode is not None else self._prepare(data)(data)

    def version(self, data: bytes) -> SchemaVersion:
        """The schema version a message was written with."""
        return self._version(split(data)[1])

    def _version(self, version_id: UUID) -> SchemaVersion:
        try:
            return self._source.version(version_id)
        except NotFound as error:
            raise UnknownWriterSchema(
                f"Schema version {version_id} is unknown: {error.message}",
                remedy="The message is damaged, or was written against another registry, region or account.",
            ) from error

    def _prepare(self, data: bytes) -> Callable[[bytes], Any]:
        compression, version_id = split(data)
        version = self._version(version_id)
        if version.data_format != "AVRO":
            raise UnreadableSchema(
                f"Schema version {version_id} ({version.schema_name}) is {version.data_format}, and this reads AVRO."
            )
        made = self._decoder(self._schemas.parse(version.definition), compression)
        with self._lock:
            while len(self._by_header) >= self._size:
                del self._by_header[next(iter(self._by_header))]
            self._by_header[bytes(data[:HEADER_SIZE])] = made
        return made

    def _decoder(self, writer: AvroSchema, compression: Compression) -> Callable[[bytes], Any]:
        limits = self._limits
        if compression is Compression.NONE:
            return decoder(writer, self._reader, start=HEADER_SIZE, limits=limits)
        decode = decoder(writer, self._reader, limits=limits)
        return lambda data: decode(inflate(data[HEADER_SIZE:], max_payload=limits.payload))

"""Whole messages: a value to a frame with its schema's id, and back; independent of Kafka's client.

AWS's frame is always read. Confluent's frames are read where a source of Confluent's ids is given, told apart by their first
byte; without one they are no frames, as dead letters call them. Built once per schema and kept: afterwards a message costs
one dictionary lookup and one call into fastavro.
"""

import zlib
from collections.abc import Callable
from threading import Lock
from typing import Any
from uuid import UUID

from penstock.errors import NotFound
from penstock.schema.errors import InvalidSchema
from penstock.schema.formats.avro import AvroFormat
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes import confluent
from penstock.serdes.avro import AvroSchema, AvroSchemas, decoder, encoder
from penstock.serdes.confluent import Headers, SchemaId
from penstock.serdes.errors import UnknownWriterSchema, UnreadableSchema
from penstock.serdes.frame import HEADER_SIZE, Compression, header, inflate, split
from penstock.serdes.ports import ConfluentSource, SchemaSource
from penstock.serdes.shape import Limits

__all__ = ["MessageReader", "MessageWriter", "confluent_writer", "message_writer"]

# In front of a header-borne id among the prepared ones: no frame begins with it.
_IN_HEADER = b"\xff"

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


def confluent_writer(
    schema_id: SchemaId, schema: AvroSchema, *, in_header: bool = False, ignore_unknown: bool = False
) -> MessageWriter:
    """A function that writes values of ``schema`` in Confluent's frame, or bare where the id goes ``in_header``."""
    head = b"" if in_header else confluent.prefix(schema_id)
    return encoder(schema, prefix=head, ignore_unknown=ignore_unknown)


class MessageReader:
    """Reads messages of any version that ``source`` knows; safe for threads.

    With ``confluent`` also those in Confluent's frames, and those whose headers name their schema. With ``reader_schema``
    every value is resolved to that definition, whatever it was written with. At most ``cache_size`` versions stay prepared.
    ``limits`` bound what a hostile message may cost.
    """

    def __init__(
        self,
        source: SchemaSource,
        *,
        confluent: ConfluentSource | None = None,
        reader_schema: str | None = None,
        cache_size: int = 200,
        limits: Limits | None = None,
        schemas: AvroSchemas | None = None,
    ) -> None:
        self._source = source
        self._confluent = confluent
        self._schemas = schemas or AvroSchemas(cache_size)
        self._reader = self._schemas.parse(reader_schema) if reader_schema is not None else None
        self._limits = limits or Limits()
        self._size = cache_size
        self._by_header: dict[bytes, Callable[[bytes], Any]] = {}
        self._lock = Lock()

    def read(self, data: bytes | None, headers: Headers | None = None, *, key: bool = False) -> Any:
        """The value of a message; ``None`` for a tombstone. ``headers`` are the record's, ``key`` says which part it is.

        Raises a :class:`~penstock.serdes.errors.SerdeError`, and what the source raises when the registry cannot be asked.
        """
        if data is None:
            return None
        if self._confluent is not None:
            named = confluent.header_of(headers, key=key)
            if named is not None:
                # What follows the id in a header is of no use to Avro, and would fill the cache.
                named = named[: confluent.prefix_size(named)] if confluent.is_confluent(named) else named[:1]
                return self._by_id(_IN_HEADER + named, named, start=0)(data)
            if confluent.is_confluent(data):
                head = data[: confluent.prefix_size(data)]
                return self._by_id(head, head, start=len(head))(data)
        decode = self._by_header.get(data[:HEADER_SIZE])
        return decode(data) if decode is not None else self._prepare(data)(data)

    def version(self, data: bytes) -> SchemaVersion:
        """The schema version a message was written with."""
        return self._version(split(data)[1])

    def origin(self, data: bytes, headers: Headers | None = None, *, key: bool = False) -> str:
        """What a message names as its schema, in words for people; nothing is fetched that :meth:`read` did not fetch."""
        named = confluent.header_of(headers, key=key) if self._confluent is not None else None
        if named is None and self._confluent is not None and confluent.is_confluent(data):
            named = data
        if named is not None:
            return f"schema {confluent.split(named)}"
        version = self.version(data)
        return f"version {version.number} of {version.registry_name}/{version.schema_name}"

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
        self._keep(bytes(data[:HEADER_SIZE]), made)
        return made

    def _by_id(self, cached_as: bytes, head: bytes, *, start: int) -> Callable[[bytes], Any]:
        """The decoder of messages whose schema ``head`` names; their payload begins at ``start``."""
        made = self._by_header.get(cached_as)
        if made is None:
            text = self._text(confluent.split(head))
            made = decoder(self._schemas.parse(_one_text(text)), self._reader, start=start, limits=self._limits)
            self._keep(cached_as, made)
        return made

    def _text(self, schema_id: SchemaId) -> SchemaText:
        assert self._confluent is not None
        try:
            text = self._confluent.text(schema_id)
        except NotFound as error:
            raise UnknownWriterSchema(
                f"Schema {schema_id} is unknown: {error.message}",
                remedy="The message is damaged, or was written against another registry or context.",
            ) from error
        if text.data_format != "AVRO":
            raise UnreadableSchema(f"Schema {schema_id} is {text.data_format}, and this reads AVRO.")
        return text

    def _keep(self, head: bytes, made: Callable[[bytes], Any]) -> None:
        with self._lock:
            while len(self._by_header) >= self._size:
                del self._by_header[next(iter(self._by_header))]
            self._by_header[head] = made

    def _decoder(self, writer: AvroSchema, compression: Compression) -> Callable[[bytes], Any]:
        limits = self._limits
        if compression is Compression.NONE:
            return decoder(writer, self._reader, start=HEADER_SIZE, limits=limits)
        decode = decoder(writer, self._reader, limits=limits)
        return lambda data: decode(inflate(data[HEADER_SIZE:], max_payload=limits.payload))


def _one_text(text: SchemaText) -> str:
    """The definition with the types it refers to in it."""
    if not text.references:
        return text.definition
    try:
        return AvroFormat().parse(text.definition, text.references).canonical
    except InvalidSchema as error:
        raise UnreadableSchema(f"The schema cannot be used: {error}") from error

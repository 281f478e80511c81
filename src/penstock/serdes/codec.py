"""Messages: a value to a frame with its schema's id, and back. Independent of Kafka's client.

AWS's frame is always read. Confluent's frames are read if a source of Confluent's ids is given; the first byte tells the two
apart. Without such a source, Confluent's frames are refused as not framed. A reader or writer is built once per schema and
cached. After that, a message costs one dictionary lookup and one call into fastavro.
"""

import zlib
from collections.abc import Callable, Collection
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import UUID

from penstock.caching import SharedCache
from penstock.errors import NotFound
from penstock.schema.version import SchemaText, SchemaVersion
from penstock.serdes import confluent_frame as confluent
from penstock.serdes.avro.codec import AvroSchema, AvroSchemas, encoder
from penstock.serdes.avro.limits import Limits
from penstock.serdes.confluent_frame import Headers, SchemaId
from penstock.serdes.decoders import PayloadDecoders
from penstock.serdes.errors import SerdeError, UnknownWriterSchema
from penstock.serdes.frame import HEADER_SIZE, Compression, header, inflate, is_framed, message_bytes, split
from penstock.serdes.ports import ConfluentSource, SchemaSource

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["MessageReader", "MessageWriter", "confluent_writer", "framed", "message_writer"]

# Marks cache keys of ids that came in a record header: no frame begins with this byte.
_IN_HEADER = b"\xff"
_MAX_HEADER = 128  # bytes of an id and, for Protobuf, the short message index after it

MessageWriter = Callable[[Any], bytes]
"""A function from a value to a message with its frame."""


def message_writer(
    version_id: UUID,
    schema: AvroSchema,
    *,
    compression: Compression = Compression.NONE,
    ignore_unknown: bool = False,
) -> MessageWriter:
    """Return a function that writes values of ``schema`` as messages of version ``version_id``.

    It raises the same errors as :func:`penstock.serdes.avro.codec.encoder`.
    """
    return framed(version_id, lambda prefix: encoder(schema, prefix=prefix, ignore_unknown=ignore_unknown), compression)


def framed(version_id: UUID, encoder_of: Callable[[bytes], MessageWriter], compression: Compression) -> MessageWriter:
    """Return a function that writes messages of version ``version_id``.

    ``encoder_of`` takes the bytes that go in front of every payload and returns the payload's encoder. zlib runs at its
    default level, as in AWS's serialiser.
    """
    head = header(version_id, compression)
    if compression is Compression.NONE:
        return encoder_of(head)
    encode = encoder_of(b"")
    compress = zlib.compress
    return lambda value: head + compress(encode(value))


def confluent_writer(
    schema_id: SchemaId, encoder_of: Callable[[bytes], MessageWriter], *, in_header: bool = False
) -> MessageWriter:
    """Return a function that writes messages in Confluent's frame, or bare payloads if the id goes ``in_header``.

    ``encoder_of`` takes the bytes that go in front of every payload and returns the payload's encoder.
    """
    return encoder_of(b"" if in_header else confluent.prefix(schema_id))


class MessageReader:
    """Reads messages of any version that ``source`` knows. Thread-safe.

    With ``confluent`` it also reads Confluent's frames and messages whose record headers name their schema. With
    ``reader_schema`` every value is resolved to that definition (a plain text is Avro), whatever schema wrote it.
    ``formats`` are the schema formats to read: AVRO, JSON, PROTOBUF. ``messages`` returns Protobuf messages of Google's
    library instead of dictionaries: true for classes generated from the schema, or the class to read. At most
    ``cache_size`` versions stay cached. ``limits`` bound the cost of a hostile message.
    """

    def __init__(
        self,
        source: SchemaSource,
        *,
        confluent: ConfluentSource | None = None,
        reader_schema: str | SchemaText | None = None,
        formats: Collection[str] = ("AVRO",),
        cache_size: int = 200,
        messages: "type[Message] | bool" = False,
        limits: Limits | None = None,
        schemas: AvroSchemas | None = None,
    ) -> None:
        self._source = source
        self._confluent = confluent
        self._limits = limits or Limits()
        reader = (
            SchemaText(definition=reader_schema, data_format="AVRO") if isinstance(reader_schema, str) else reader_schema
        )
        self._payloads = PayloadDecoders(
            reader, formats=formats, schemas=schemas or AvroSchemas(cache_size), limits=self._limits, messages=messages
        )
        self._size = cache_size
        # Looked up for every message. Reads of a dict need no lock; a locked cache would add a fifth of the time (ADR 25).
        self._by_header: dict[bytes, Callable[[bytes], Any]] = {}
        self._versions: SharedCache[bytes, SchemaVersion] = SharedCache(cache_size)
        self._lock = Lock()

    def read(self, data: bytes | None, headers: Headers | None = None, *, key: bool = False) -> Any:
        """Return the value of a message, or ``None`` for a tombstone.

        ``headers`` are the record's headers. ``key`` is true for a record's key. Raise a
        :class:`~penstock.serdes.errors.SerdeError`, or the source's error if the registry cannot be reached.
        """
        if data is None:
            return None
        if data.__class__ is not bytes:
            data = message_bytes(data)
        try:
            decode = self._by_header.get(data[:HEADER_SIZE]) if self._confluent is None else None
            return (decode or self._decoder(data, headers, key))(data)
        except SerdeError as error:
            raise self._with_schema(error, data) from error.__cause__

    def prepare(self, data: bytes, headers: Headers | None = None, *, key: bool = False) -> None:
        """Fetch from the registry what :meth:`read` needs for this message. Raise the same errors for its schema."""
        try:
            self._decoder(message_bytes(data), headers, key)
        except SerdeError as error:
            raise self._with_schema(error, message_bytes(data)) from error.__cause__

    def _decoder(self, data: bytes, headers: Headers | None, key: bool) -> Callable[[bytes], Any]:
        if self._confluent is not None:
            schema_header = confluent.header_of(headers, key=key)
            if schema_header is not None:
                schema_header = schema_header[:_MAX_HEADER]
                return self._by_id(_IN_HEADER + schema_header, schema_header, start=0)
            if confluent.is_confluent(data):
                head = data[: confluent.prefix_size(data)]
                return self._by_id(head, head, start=len(head))
        return self._by_header.get(data[:HEADER_SIZE]) or self._prepare(data)

    def knows(self, data: bytes, headers: Headers | None = None, *, key: bool = False) -> bool:
        """Return whether :meth:`read` can decode or refuse this message without a call to the registry."""
        if data.__class__ is not bytes:
            return not isinstance(data, bytearray | memoryview)
        if self._confluent is not None:
            schema_header = confluent.header_of(headers, key=key)
            if schema_header is not None:
                return _IN_HEADER + schema_header[:_MAX_HEADER] in self._by_header
            if confluent.is_confluent(data):
                return data[: confluent.prefix_size(data)] in self._by_header
        return data[:HEADER_SIZE] in self._by_header or not is_framed(data)

    def _with_schema(self, error: SerdeError, data: bytes) -> SerdeError:
        """Add the schema to the error's text if it is cached. Nothing is fetched."""
        version = self._versions.peek(data[:HEADER_SIZE])
        if version is None:
            return error
        return error.of(f"{version.registry_name}/{version.schema_name}", version.number, version.id)

    def version(self, data: bytes) -> SchemaVersion:
        """Return the schema version that wrote a message."""
        return self._version(split(data)[1])

    def origin(self, data: bytes, headers: Headers | None = None, *, key: bool = False) -> str:
        """Describe a message's schema in human-readable form. Nothing is fetched beyond what :meth:`read` fetched."""
        prefixed = confluent.header_of(headers, key=key) if self._confluent is not None else None
        if prefixed is None and self._confluent is not None and confluent.is_confluent(data):
            prefixed = data
        if prefixed is not None:
            return f"schema {confluent.split(prefixed)}"
        version = self.version(data)
        return f"version {version.number} of {version.registry_name}/{version.schema_name}"

    def _version(self, version_id: UUID) -> SchemaVersion:
        try:
            return self._source.version(version_id)
        except NotFound as error:
            unknown = UnknownWriterSchema(
                f"Schema version {version_id} is unknown: {error.message}",
                remedy="The message is damaged, or was written with another registry, region or account.",
            )
            unknown.version_id = version_id
            raise unknown from error

    def _prepare(self, data: bytes) -> Callable[[bytes], Any]:
        compression, version_id = split(data)
        version = self._version(version_id)
        head = data[:HEADER_SIZE]
        self._versions.put(head, version)
        text = SchemaText(definition=version.definition, data_format=version.data_format)
        what = f"Schema version {version_id} ({version.schema_name})"
        zipped = compression is Compression.ZLIB
        decode = self._payloads.decoder(text, what, start=0 if zipped else HEADER_SIZE)
        decoder = self._inflating(decode) if zipped else decode
        self._keep(head, decoder)
        return decoder

    def _inflating(self, decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        limit = self._limits.payload
        return lambda data: decode(inflate(data[HEADER_SIZE:], max_payload=limit))

    def _by_id(self, cached_as: bytes, head: bytes, *, start: int) -> Callable[[bytes], Any]:
        """Return the decoder for the schema that ``head`` names. Payloads begin at ``start``; 0 if the id is in a header."""
        decoder = self._by_header.get(cached_as)
        if decoder is None:
            schema_id = confluent.split(head)
            rest = None if start else head[confluent.prefix_size(head) :]
            decoder = self._payloads.decoder(
                self._text(schema_id), f"Schema {schema_id}", start=start, confluent=True, in_header=rest
            )
            self._keep(cached_as, decoder)
        return decoder

    def _text(self, schema_id: SchemaId) -> SchemaText:
        assert self._confluent is not None
        try:
            return self._confluent.text(schema_id)
        except NotFound as error:
            raise UnknownWriterSchema(
                f"Schema {schema_id} is unknown: {error.message}",
                remedy="The message is damaged, or was written with another registry or context.",
            ) from error

    def _keep(self, head: bytes, decoder: Callable[[bytes], Any]) -> None:
        with self._lock:
            while len(self._by_header) >= self._size:
                del self._by_header[next(iter(self._by_header))]
            self._by_header[head] = decoder

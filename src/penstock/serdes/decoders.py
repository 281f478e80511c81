"""Decoders of payloads by the format of the schema that they were written with.

The modules of JSON and Protobuf are loaded with the first schema of theirs: Avro's users start faster without them.
"""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.parse import parse_avro
from penstock.schema.errors import InvalidSchema
from penstock.schema.version import SchemaText
from penstock.serdes.avro.codec import AvroSchema, AvroSchemas, decoder
from penstock.serdes.avro.limits import Limits
from penstock.serdes.errors import UnreadableSchema

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from penstock.serdes.protobuf.decoder import ProtobufSchema

__all__ = ["PayloadDecoders"]

Decode = Callable[[bytes], Any]


class PayloadDecoders:
    """Makes decoders for one reader.

    With ``reader`` Avro is resolved to it, JSON is held against it in place of the writer's schema, and Protobuf is read as
    its message of the same name. ``formats`` are those that are read at all; ``messages`` is what becomes of Protobuf, as
    :func:`~penstock.serdes.protobuf.decoder.protobuf_decoder` takes it. Raises :class:`UnreadableSchema` for a reader's
    schema that cannot be used.
    """

    def __init__(
        self,
        reader: SchemaText | None,
        *,
        formats: Collection[str],
        schemas: AvroSchemas,
        limits: Limits,
        messages: "type[Message] | bool" = False,
    ) -> None:
        self._reader = reader
        self._messages = messages
        self._formats = formats
        self._schemas = schemas
        self._limits = limits
        self._avro = self._avro_schema(reader) if reader is not None and reader.data_format == "AVRO" else None
        self._protobuf = _protobuf(reader) if reader is not None and reader.data_format == "PROTOBUF" else None

    def decoder(
        self, writer: SchemaText, what: str, *, start: int, confluent: bool = False, in_header: bytes | None = None
    ) -> Decode:
        """A function from bytes, of which the payload begins at ``start``, to the value. ``what`` names the schema.

        ``confluent`` says in whose frame the payload is, ``in_header`` what follows the id in a record's header. Raises
        :class:`UnreadableSchema`.
        """
        wanted = self._formats if self._reader is None else (self._reader.data_format,)
        if writer.data_format not in wanted:
            raise UnreadableSchema(f"{what} is {writer.data_format}, and this reads {' or '.join(sorted(wanted))}.")
        match writer.data_format:
            case "AVRO":
                return decoder(self._avro_schema(writer), self._avro, start=start, limits=self._limits)
            case "JSON":
                from penstock.serdes.json.decoder import json_decoder  # noqa: PLC0415

                return json_decoder(self._reader or writer, start=start, limits=self._limits)
            case "PROTOBUF":
                from penstock.serdes.protobuf.decoder import protobuf_decoder  # noqa: PLC0415

                return protobuf_decoder(
                    _protobuf(writer),
                    self._protobuf,
                    start=start,
                    limits=self._limits,
                    confluent=confluent,
                    in_header=in_header,
                    messages=self._messages,
                )
            case other:
                raise UnreadableSchema(f"{what} is {other}, which nothing here reads.")

    def _avro_schema(self, schema: SchemaText) -> AvroSchema:
        if not schema.references:
            return self._schemas.parse(schema.definition)
        try:
            # With the types that it refers to in it.
            return self._schemas.parse(canonical_text(parse_avro(schema.definition, schema.references)))
        except InvalidSchema as error:
            raise UnreadableSchema(f"The schema cannot be used: {error}") from error


def _protobuf(schema: SchemaText) -> "ProtobufSchema":
    from penstock.serdes.protobuf.decoder import ProtobufSchema  # noqa: PLC0415

    return ProtobufSchema(schema)

"""Payload decoders by the format of the writer schema.

The JSON and Protobuf modules are loaded with the first schema of their format, so that users of Avro start faster.
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

    With ``reader``, Avro is resolved to it, JSON is validated against it instead of the writer schema, and Protobuf is read
    as its message of the same name. ``formats`` are the formats to read. ``messages`` is passed to
    :func:`~penstock.serdes.protobuf.decoder.protobuf_decoder`. Raises :class:`UnreadableSchema` for a reader schema that
    cannot be used.
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
        """Return a function from a message whose payload begins at byte ``start`` to the value.

        ``what`` names the schema in errors. ``confluent`` is true for payloads in Confluent's frame. ``in_header`` is what
        follows the id in a record header. Raise :class:`UnreadableSchema` if the schema cannot be used, or its format is not
        among those to read.
        """
        formats = self._formats if self._reader is None else (self._reader.data_format,)
        if writer.data_format not in formats:
            raise UnreadableSchema(
                f"{what} is {writer.data_format}, and this deserialiser reads {' or '.join(sorted(formats))}."
            )
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
            # The text then contains the referenced types too.
            return self._schemas.parse(canonical_text(parse_avro(schema.definition, schema.references)))
        except InvalidSchema as error:
            raise UnreadableSchema(f"The schema cannot be used: {error}") from error


def _protobuf(schema: SchemaText) -> "ProtobufSchema":
    from penstock.serdes.protobuf.decoder import ProtobufSchema  # noqa: PLC0415

    return ProtobufSchema(schema)

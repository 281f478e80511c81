"""Serialisers for confluent-kafka that write Confluent's frames, for topics whose readers are Confluent's clients.

The serialisers for AWS's frame are in :mod:`penstock.serdes.kafka.serdes`, as are the deserialisers, which read both frames.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from penstock.client.cache import OnceCache
from penstock.errors import InvalidInput
from penstock.schema.version import SchemaText
from penstock.serdes.codec import MessageWriter, confluent_writer
from penstock.serdes.confluent_frame import KEY_HEADER, VALUE_HEADER, SchemaId, prefix
from penstock.serdes.encoders import payload_encoder
from penstock.serdes.errors import SerdeError, UnreadableSchema
from penstock.serdes.kafka.client import MessageField, SerializationContext, Serializer
from penstock.serdes.ports import ConfluentRegistrar, Definition
from penstock.serdes.protobuf.decoder import ProtobufSchema
from penstock.serdes.protobuf.encoder import definition_of, is_message, protobuf_encoder
from penstock.serdes.serializer import definition_text

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["ConfluentAvroSerializer", "ConfluentJsonSerializer", "ConfluentProtobufSerializer", "IdPlace"]

IdPlace = Literal["prefix", "guid", "header"]
"""The place of the schema's id: 4 bytes in front of the payload, a GUID in front of it, or a GUID in a record header."""


class _ConfluentSerializer(Serializer):
    """Values to messages in Confluent's frame. Thread-safe.

    ``registry`` gives the ids, usually a :class:`penstock.client.confluent.ConfluentClient`. ``schema`` is the definition to
    write with, text or JSON. It is looked up under ``subject`` (by default ``TOPIC-value`` or ``TOPIC-key``), and registered
    there first with ``auto_register``. Definitions with references to other subjects can be read but not written.
    """

    data_format: ClassVar[str]

    def __init__(
        self,
        registry: ConfluentRegistrar,
        schema: Definition,
        *,
        subject: str | None = None,
        auto_register: bool = False,
        id_in: IdPlace = "prefix",
        ignore_unknown_fields: bool = False,
    ) -> None:
        self._registry = registry
        self._definition = definition_text(schema)
        text = SchemaText(definition=self._definition, data_format=self.data_format)
        self._encoder_of = self._encoder(text, ignore_unknown_fields)
        self._subject = subject
        self._auto = auto_register
        self._place = id_in
        self._writers: OnceCache[str, tuple[SchemaId, MessageWriter]] = OnceCache(200)

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the message, or ``None`` for ``None``. An id that goes in a header is added to the context's headers.

        Raise :class:`SerdeError` with the topic in its text, :class:`InvalidInput` without a subject or headers, and the
        registry's errors.
        """
        if obj is None:
            return None
        subject = self._subject or _subject(ctx)
        schema_id, write = self._writers.get(subject, lambda: self._prepare(subject))
        try:
            message = write(obj)
        except SerdeError as error:
            raise error.at(ctx.topic if ctx is not None else None) from error.__cause__
        if self._place == "header":
            _add_header(prefix(schema_id) + self._index(obj), ctx)
        return message

    def _encoder(self, schema: SchemaText, ignore_unknown: bool) -> Callable[[bytes], MessageWriter]:
        return payload_encoder(schema, ignore_unknown=ignore_unknown)

    def _index(self, obj: Any) -> bytes:  # noqa: ARG002 -- Protobuf's index depends on the message
        """Return the bytes after the id in a header."""
        return b""

    def _prepare(self, subject: str) -> tuple[SchemaId, MessageWriter]:
        find = self._registry.register if self._auto else self._registry.find
        number, guid = find(subject, self._definition, self.data_format)
        schema_id: SchemaId = number
        if self._place != "prefix":
            if guid is None:
                raise UnreadableSchema(
                    f"The registry has no GUID for schema {number}, and id_in='{self._place}' needs one.",
                    remedy="Write the 4-byte id in front of the payload: id_in='prefix'.",
                )
            schema_id = guid
        return schema_id, confluent_writer(schema_id, self._encoder_of, in_header=self._place == "header")


class ConfluentAvroSerializer(_ConfluentSerializer):
    """Values to Avro in Confluent's frame. Thread-safe."""

    data_format = "AVRO"


class ConfluentJsonSerializer(_ConfluentSerializer):
    """Values that fit a JSON Schema to JSON in Confluent's frame. Thread-safe."""

    data_format = "JSON"


class ConfluentProtobufSerializer(_ConfluentSerializer):
    """Messages of Google's library, or mappings of their fields, to Protobuf in Confluent's frame. Thread-safe.

    ``schema`` is the text of the .proto file, or the class of a message whose file is registered. ``message`` is the full
    name of the type that mappings are written as, by default the definition's first.
    """

    data_format = "PROTOBUF"

    def __init__(
        self,
        registry: ConfluentRegistrar,
        schema: "Definition | type[Message]",
        *,
        message: str | None = None,
        **settings: Any,
    ) -> None:
        self._message = message
        if not isinstance(schema, str | Mapping | list):
            self._message = message or schema.DESCRIPTOR.full_name
            schema = definition_of(schema)
        super().__init__(registry, schema, **settings)

    def _encoder(self, schema: SchemaText, ignore_unknown: bool) -> Callable[[bytes], MessageWriter]:
        self._compiled = compiled = ProtobufSchema(schema)

        def encoder_of(head: bytes) -> MessageWriter:
            # The index of a bare payload goes into the header, after the id.
            index = compiled.confluent_index if head else lambda _: b""
            return protobuf_encoder(compiled, message=self._message, prefix=head, ignore_unknown=ignore_unknown, index=index)

        return encoder_of

    def _index(self, obj: Any) -> bytes:
        name = obj.DESCRIPTOR.full_name if is_message(obj) else self._message or self._compiled.first_name()
        return self._compiled.confluent_index(name)


def _subject(ctx: SerializationContext | None) -> str:
    if ctx is None or not ctx.topic:
        raise InvalidInput(
            "The serialiser has no subject.", remedy="Give subject=..., or call it with a context that has a topic."
        )
    return f"{ctx.topic}-{'key' if ctx.field == MessageField.KEY else 'value'}"


def _add_header(value: bytes, ctx: SerializationContext | None) -> None:
    headers = ctx.headers if ctx is not None else None
    if ctx is None or headers is None:
        raise InvalidInput(
            "id_in='header' writes the schema's id into a header, and the context has no headers.",
            remedy="Produce with headers=[].",
        )
    name = KEY_HEADER if ctx.field == MessageField.KEY else VALUE_HEADER
    if isinstance(headers, dict):
        headers[name] = value
    else:
        headers.append((name, value))

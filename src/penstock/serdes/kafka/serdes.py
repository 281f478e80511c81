"""Serialisers and deserialisers for confluent-kafka, in AWS's frame, for AVRO, JSON and PROTOBUF.

They plug into ``SerializingProducer`` and ``DeserializingConsumer``, or are called directly. The asyncio versions are in
:mod:`penstock.serdes.kafka.aio`. Properties have the names of AWS's Java serde; see
:class:`penstock.serdes.config.SerdeConfig`.
"""

from collections.abc import Mapping
from typing import Any

from penstock.serdes.config import SerdeConfig
from penstock.serdes.deserializer import RegistryDeserializer
from penstock.serdes.errors import SerdeError
from penstock.serdes.kafka.client import Deserializer, Message, MessageField, SerializationContext, Serializer
from penstock.serdes.ports import ConfluentSource, Definition, SchemaSource
from penstock.serdes.serializer import RegistrySerializer

__all__ = ["GlueAvroDeserializer", "GlueAvroSerializer", "GlueDeserializer", "GlueSerializer"]

_KEY = MessageField.KEY


class GlueSerializer(RegistrySerializer, Serializer):
    """Values to messages of a registered schema. Thread-safe. Arguments as in :class:`RegistrySerializer`."""

    __slots__ = ()

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the message, or ``None`` for ``None``. Raise :class:`SerdeError` with the topic in its text."""
        if ctx is None:
            return self.write(obj, "")
        return self.write(obj, ctx.topic, is_key=ctx.field is _KEY or ctx.field == "key")


class GlueAvroSerializer(GlueSerializer):
    """A :class:`GlueSerializer` whose name shows that it writes AVRO."""

    __slots__ = ()


class GlueDeserializer(RegistryDeserializer, Deserializer):
    """Messages of any registered version and format to values. Thread-safe.

    Arguments as in :class:`RegistryDeserializer`.
    """

    __slots__ = ()

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the value, or ``None`` for a tombstone. Raise :class:`SerdeError` with the topic in its text."""
        try:
            if ctx is None:
                return self.read(value)
            return self.read(value, ctx.headers, is_key=ctx.field == _KEY, context=ctx)
        except SerdeError as error:
            raise error.at(ctx.topic if ctx is not None else None) from error.__cause__

    def message(self, message: Message, field: MessageField = MessageField.VALUE) -> Any:
        """Return the value (or key) of a consumed message. Errors name its topic, partition and offset."""
        is_key = field == _KEY
        data = message.key() if is_key else message.value()
        try:
            return self.read(data, message.headers(), is_key=is_key)
        except SerdeError as error:
            raise error.at(message.topic(), message.partition(), message.offset()) from error.__cause__


class GlueAvroDeserializer(GlueDeserializer):
    """A :class:`GlueDeserializer` that refuses every format except AVRO."""

    __slots__ = ()

    def __init__(
        self,
        properties: Mapping[str, Any] | SerdeConfig | None = None,
        *,
        reader_schema: Definition | None = None,
        source: SchemaSource | None = None,
        confluent: ConfluentSource | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(
            properties, reader_schema=reader_schema, source=source, confluent=confluent, formats=("AVRO",), **settings
        )

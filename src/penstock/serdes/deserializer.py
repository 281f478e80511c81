"""Messages to values: the common part of the deserialisers for Kafka, asyncio and Kinesis."""

import importlib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, cast

from penstock.errors import InvalidInput
from penstock.schema.format import DATA_FORMATS
from penstock.schema.version import SchemaText
from penstock.serdes.codec import MessageReader
from penstock.serdes.config import SerdeConfig
from penstock.serdes.confluent_frame import Headers
from penstock.serdes.frame import is_framed
from penstock.serdes.ports import ConfluentSource, Definition, SchemaSource
from penstock.serdes.resolve import open_confluent, open_registry, resolve_config
from penstock.serdes.serializer import definition_text

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["RegistryDeserializer"]

Secondary = Callable[[bytes, Any], Any]

# Kafka's Java deserialisers and their Python counterparts. Confluent's frames are read if schema.registry.url is set.
_KAFKAS = "org.apache.kafka.common.serialization."
_COUNTERPARTS = {
    f"{_KAFKAS}StringDeserializer": "StringDeserializer",
    f"{_KAFKAS}IntegerDeserializer": "IntegerDeserializer",
    f"{_KAFKAS}DoubleDeserializer": "DoubleDeserializer",
    f"{_KAFKAS}ByteArrayDeserializer": "",
}
_CONFLUENTS = "io.confluent.kafka."


class RegistryDeserializer:
    """Reads messages of any version that the registry knows. Thread-safe.

    With ``reader_schema`` every value is resolved to that definition, whose format is ``dataFormat``: fields that it lacks
    are dropped, fields that the writer lacked get their defaults. Protobuf messages become dictionaries, or messages of
    ``message_class`` if it is given, or messages of generated classes if ``protobufMessageType`` is DYNAMIC_MESSAGE.

    Messages of Confluent's serialisers (id or GUID in front, or in a header) are read too if ``schema.registry.url`` names
    the registry of their ids, or ``confluent`` is a source of them. Any other message without a frame goes to
    ``secondaryDeserializer``, a callable of bytes and context; if that is not set, it is an error. ``formats`` limits the
    formats that are read. ``settings`` are fields of :class:`SerdeConfig`.
    """

    __slots__ = ("_reader", "_secondary")

    def __init__(
        self,
        properties: Mapping[str, Any] | SerdeConfig | None = None,
        *,
        reader_schema: Definition | None = None,
        message_class: "type[Message] | None" = None,
        source: SchemaSource | None = None,
        confluent: ConfluentSource | None = None,
        formats: Collection[str] = DATA_FORMATS,
        **settings: Any,
    ) -> None:
        config = resolve_config(properties, settings)
        if config.message_type == "POJO" and message_class is None:
            raise InvalidInput(
                "protobufMessageType POJO needs a class.", remedy="Give the generated class as message_class."
            )
        self._secondary = _secondary(config)
        self._reader = MessageReader(
            source or open_registry(config),
            confluent=confluent or open_confluent(config),
            reader_schema=_reader_text(reader_schema, config, formats),
            formats=formats,
            messages=message_class or config.message_type == "DYNAMIC_MESSAGE",
            cache_size=config.cache_size,
            limits=config.limits,
        )

    def read(self, data: bytes | None, headers: Headers | None = None, *, is_key: bool = False, context: Any = None) -> Any:
        """Return the value, or ``None`` for a tombstone. ``context`` is passed to a secondary deserialiser.

        Raise a :class:`~penstock.serdes.errors.SerdeError`, or the client's error if the registry cannot be reached.
        """
        if self._secondary is not None and data is not None and not is_framed(data):
            return self._secondary(data, context)
        return self._reader.read(data, headers, key=is_key)

    def prepare(self, data: bytes, headers: Headers | None = None, *, is_key: bool = False) -> None:
        """Fetch from the registry what :meth:`read` needs for this message. Raise the same errors for its schema."""
        self._reader.prepare(data, headers, key=is_key)

    def is_ready(self, data: bytes | None, headers: Headers | None = None, *, is_key: bool = False) -> bool:
        """Return whether the message can be read without a call to the registry."""
        return data is None or self._reader.knows(data, headers, key=is_key)


def _reader_text(definition: Definition | None, config: SerdeConfig, formats: Collection[str]) -> SchemaText | None:
    if definition is None:
        return None
    if config.data_format not in formats:
        raise InvalidInput(
            f"The reader_schema is {config.data_format} (dataFormat), and this deserialiser reads {', '.join(formats)}.",
            remedy="Set dataFormat to the reader_schema's format.",
        )
    return SchemaText(definition=definition_text(definition), data_format=config.data_format)


def _secondary(config: SerdeConfig) -> Secondary | None:
    configured = config.secondary
    if configured is None or callable(configured):
        return cast("Secondary | None", configured)
    name = str(configured)
    if name in _COUNTERPARTS:
        counterpart = _COUNTERPARTS[name]
        if not counterpart:
            return lambda data, _context: data
        deserializer: Secondary = getattr(importlib.import_module("confluent_kafka.serialization"), counterpart)()
        return deserializer
    if name.startswith(_CONFLUENTS):
        if config.confluent_url is None:
            raise InvalidInput(
                f"secondaryDeserializer {name} needs the URL of the registry that knows its ids.",
                remedy="Set schema.registry.url.",
            )
        return None  # the reader recognises Confluent's frames itself
    raise InvalidInput(
        f"secondaryDeserializer {name} is a Java class that does not run here.",
        remedy="Give a function of the bytes and the context, or a deserialiser of confluent_kafka.serialization.",
    )

"""Serialiser and deserialiser for confluent-kafka, in AWS's frame.

They plug into ``SerializingProducer`` and ``DeserializingConsumer`` or are called directly. Properties have the names of
AWS's Java serde; see :class:`penstock.serdes.config.SerdeConfig`.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from confluent_kafka import Message
from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext, Serializer

from penstock.client.cache import OnceCache
from penstock.client.confluent import ConfluentClient
from penstock.client.registry import RegistryClient
from penstock.errors import InvalidInput
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro import AvroSchemas
from penstock.serdes.codec import MessageReader, MessageWriter, message_writer
from penstock.serdes.config import SerdeConfig
from penstock.serdes.errors import SerdeError, UnreadableSchema
from penstock.serdes.ports import ConfluentSource, Registrar, SchemaSource
from penstock.serdes.registration import TRANSPORT_KEY, Registration, perform

__all__ = ["GlueAvroDeserializer", "GlueAvroSerializer"]


def _config(properties: Mapping[str, Any] | SerdeConfig | None, settings: Mapping[str, Any]) -> SerdeConfig:
    base = properties if isinstance(properties, SerdeConfig) else SerdeConfig.from_properties(properties or {})
    try:
        return replace(base, **settings)
    except TypeError as error:
        raise InvalidInput(f"Unknown serde setting: {error}.") from None


def _text(definition: str | Mapping[str, Any] | list[Any] | None) -> str | None:
    # Compact, in the given order of keys, as Avro's toString prints it.
    return definition if definition is None or isinstance(definition, str) else json.dumps(definition, separators=(",", ":"))


class GlueAvroSerializer(Serializer):
    """Values to messages of a registered schema; safe for threads.

    ``schema`` is the Avro definition (JSON text or the parsed JSON) to write with: its version is looked up, and registered
    first where ``schemaAutoRegistrationEnabled`` says so. ``version_id`` pins a registered version instead. With neither,
    the schema's latest AVAILABLE version is used, asked for again after ``timeToLiveMillis``. ``source`` replaces the
    client that is otherwise made from region and endpoint. Keyword settings are the fields of :class:`SerdeConfig`.
    """

    __slots__ = (
        "_clock",
        "_config",
        "_definition",
        "_pinned",
        "_ready",
        "_schemas",
        "_seconds",
        "_sleep",
        "_source",
        "_writers",
    )

    def __init__(
        self,
        properties: Mapping[str, Any] | SerdeConfig | None = None,
        *,
        schema: str | Mapping[str, Any] | list[Any] | None = None,
        version_id: UUID | str | None = None,
        source: Registrar | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        **settings: Any,
    ) -> None:
        if schema is not None and version_id is not None:
            raise InvalidInput("Give a schema or a version_id, not both.")
        name = settings.pop("schema_name", None)
        self._config = _config(properties, settings if name is None else {**settings, "schema": name})
        self._definition = _text(schema)
        self._pinned = UUID(str(version_id)) if version_id is not None else None
        self._source: Registrar = source or RegistryClient(
            region=self._config.region, endpoint_url=self._config.endpoint_url, cache_size=self._config.cache_size
        )
        self._schemas = AvroSchemas(self._config.cache_size)
        # A definition's id never changes; only "latest" goes stale.
        fixed = self._definition is not None or self._pinned is not None
        self._seconds = float("inf") if fixed else self._config.ttl_seconds
        self._writers: OnceCache[str, MessageWriter] = OnceCache(
            self._config.cache_size, seconds=None if fixed else self._config.ttl_seconds, clock=clock
        )
        # What the last call used, so that one topic's records skip the cache and its lock: topic, expiry, writer.
        self._ready: tuple[str, float, MessageWriter] | None = None
        self._sleep = sleep
        self._clock = clock

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The message; ``None`` for ``None``. Raises :class:`SerdeError` with the topic in its text."""
        if obj is None:
            return None
        topic = ctx.topic if ctx is not None else ""
        ready = self._ready
        try:
            if ready is not None and ready[0] == topic and self._clock() < ready[1]:
                return ready[2](obj)
            return self._prepare(topic)(obj)
        except SerdeError as error:
            raise error.at(topic or None) from error.__cause__

    def _prepare(self, topic: str) -> MessageWriter:
        writer = self._writers.get(topic, lambda: self._writer(topic))
        # A quarter of the cache's time, so that the two together hardly stretch it.
        self._ready = (topic, self._clock() + self._seconds / 4, writer)
        return writer

    def _writer(self, topic: str) -> MessageWriter:
        version_id, definition = self._version(topic)
        return message_writer(
            version_id,
            self._schemas.parse(definition),
            compression=self._config.compression,
            ignore_unknown=self._config.ignore_unknown_fields,
        )

    def _version(self, topic: str) -> tuple[UUID, str]:
        config = self._config
        if self._pinned is not None:
            return self._pinned, _avro(self._source.version(self._pinned)).definition
        schema = config.schema or topic
        if not schema:
            raise InvalidInput("No schema name: set schemaName, or call the serialiser with a context that has a topic.")
        if self._definition is None:
            latest = _avro(self._source.latest(config.registry, schema))
            return latest.id, latest.definition
        wanted = Registration(
            registry=config.registry,
            schema=schema,
            definition=self._definition,
            data_format=config.data_format,
            compatibility=config.compatibility,
            description=config.description,
            tags=config.tags,
            metadata={**({TRANSPORT_KEY: topic} if topic else {}), **config.metadata},
        )
        self._schemas.parse(self._definition)
        return perform(wanted, self._source, auto_register=config.auto_register, sleep=self._sleep), self._definition


class GlueAvroDeserializer(Deserializer):
    """Messages of any registered version to values; safe for threads.

    With ``reader_schema`` (Avro definition) every value is resolved to that schema: fields it lacks are dropped, fields the
    writer lacked get their defaults. Records of Confluent's serialisers (id or GUID in front, or in a header) are read too
    where ``schema.registry.url`` says where their ids are known, or ``confluent`` is a source of them; by default they are
    refused like any other bytes without AWS's frame. Other arguments as in :class:`GlueAvroSerializer`.
    """

    __slots__ = ("_both", "_reader")

    def __init__(
        self,
        properties: Mapping[str, Any] | SerdeConfig | None = None,
        *,
        reader_schema: str | Mapping[str, Any] | list[Any] | None = None,
        source: SchemaSource | None = None,
        confluent: ConfluentSource | None = None,
        **settings: Any,
    ) -> None:
        config = _config(properties, settings)
        if confluent is None and config.confluent_url is not None:
            confluent = ConfluentClient(
                config.confluent_url, user_info=config.confluent_user_info, cache_size=config.cache_size
            )
        # Headers matter to Confluent's records alone.
        self._both = confluent is not None
        self._reader = MessageReader(
            source or RegistryClient(region=config.region, endpoint_url=config.endpoint_url, cache_size=config.cache_size),
            confluent=confluent,
            reader_schema=_text(reader_schema),
            cache_size=config.cache_size,
            limits=config.limits,
        )

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The value; ``None`` for a tombstone. Raises :class:`SerdeError` with the topic in its text."""
        try:
            if ctx is None or not self._both:
                return self._reader.read(value)
            return self._reader.read(value, ctx.headers, key=ctx.field == MessageField.KEY)
        except SerdeError as error:
            raise error.at(ctx.topic if ctx is not None else None) from error.__cause__

    def message(self, message: Message, field: MessageField = MessageField.VALUE) -> Any:
        """The value (or key) of a consumed message; errors name its topic, partition and offset."""
        is_key = field == MessageField.KEY
        data = message.key() if is_key else message.value()
        try:
            return self._reader.read(data, message.headers(), key=is_key)
        except SerdeError as error:
            raise error.at(message.topic(), message.partition(), message.offset()) from error.__cause__


def _avro(version: SchemaVersion) -> SchemaVersion:
    if version.data_format != "AVRO":
        raise UnreadableSchema(f"Schema {version.registry_name}/{version.schema_name} is {version.data_format}, not AVRO.")
    return version

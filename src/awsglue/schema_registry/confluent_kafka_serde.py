"""Avro for confluent-kafka by a schema version's id: :class:`AvroSerDe`, and a separate serialiser and deserialiser.

The frame is AWS's. Clients are made from ``region`` and the environment, as ``boto3.client`` makes them; another endpoint
comes from AWS_ENDPOINT_URL or the property ``endpoint``. Errors are :class:`penstock.errors.PenstockError`.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any
from uuid import UUID

from penstock.client.default_session import default_session
from penstock.client.registry import RegistryClient
from penstock.serdes.kafka.client import MessageField, SerializationContext
from penstock.serdes.kafka.serdes import GlueAvroDeserializer, GlueAvroSerializer
from penstock.serdes.serializer import version_uuid

__all__ = ["AvroSerDe", "GlueSchemaRegistryDeserializer", "GlueSchemaRegistrySerializer"]


def _client(region: str | None, properties: Mapping[str, Any]) -> RegistryClient:
    return RegistryClient(
        region=region or properties.get("region"), endpoint_url=properties.get("endpoint"), session=default_session()
    )


class GlueSchemaRegistrySerializer(GlueAvroSerializer):
    """Serializes values with the version ``schema_id``, or as the properties of AWS's Java serde say.

    ``properties`` have Java's names (``registry.name``, ``compression``, ...); for other parameters see
    :class:`penstock.serdes.kafka.serdes.GlueSerializer`.
    """

    __slots__ = ()

    def __init__(
        self,
        schema_id: str | UUID | None = None,
        region: str | None = None,
        properties: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        settings.setdefault("source", None)
        settings["source"] = settings["source"] or _client(region, properties or {})
        super().__init__(properties, version_id=schema_id, **settings)

    def serialize(self, value: Any, topic: str = "") -> bytes | None:
        """Return the message; ``None`` for ``None``."""
        return self.write(value, topic)


class GlueSchemaRegistryDeserializer(GlueAvroDeserializer):
    """Deserializes messages of any version; with ``schema_id`` every value is resolved to that version.

    For other parameters see :class:`penstock.serdes.kafka.serdes.GlueDeserializer`.
    """

    __slots__ = ()

    def __init__(
        self,
        schema_id: str | UUID | None = None,
        region: str | None = None,
        properties: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        source = settings.pop("source", None) or _client(region, properties or {})
        if schema_id is not None:
            settings["reader_schema"] = source.version(version_uuid(schema_id)).definition
        super().__init__(properties, source=source, **settings)

    def deserialize(self, data: bytes | None, topic: str = "") -> Any:
        """Return the value; ``None`` for a tombstone."""
        return self(data, SerializationContext(topic, MessageField.VALUE) if topic else None)


class AvroSerDe:
    """Serializer and deserializer for one schema version: ``serialize`` writes it, ``deserialize`` resolves to it.

    So a consumer of an older version still gets that version's fields after producers have moved on. The first request to
    the registry is made for the first value.
    """

    def __init__(
        self,
        schema_id: str | UUID,
        region: str | None = None,
        properties: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self._schema_id = version_uuid(schema_id)
        self._properties = dict(properties or {})
        self._source = settings.pop("source", None) or _client(region, self._properties)
        self._settings = settings

    def serialize(self, value: Any, topic: str = "") -> bytes | None:
        """Return the message; ``None`` for ``None``. Raises :class:`penstock.serdes.errors.SerdeError`."""
        return self._serializer.serialize(value, topic)

    def deserialize(self, data: bytes | None, topic: str = "") -> Any:
        """Return the value; ``None`` for a tombstone. Raises :class:`penstock.serdes.errors.SerdeError`."""
        return self._deserializer.deserialize(data, topic)

    @cached_property
    def _serializer(self) -> GlueSchemaRegistrySerializer:
        return GlueSchemaRegistrySerializer(
            self._schema_id, properties=self._properties, source=self._source, **self._settings
        )

    @cached_property
    def _deserializer(self) -> GlueSchemaRegistryDeserializer:
        return GlueSchemaRegistryDeserializer(
            self._schema_id, properties=self._properties, source=self._source, **self._settings
        )

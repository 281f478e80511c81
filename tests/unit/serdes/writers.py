"""Serialisers in AWS's frame over a registry in memory."""

from typing import Any

from confluent_kafka.serialization import MessageField, SerializationContext

from penstock.serdes.kafka.serdes import GlueSerializer
from tests.unit.serdes.fake_registry import FakeRegistry

__all__ = ["VALUE", "serializer"]

VALUE = SerializationContext("flights", MessageField.VALUE)


def serializer(registry: FakeRegistry, data_format: str, **settings: Any) -> GlueSerializer:
    properties = {"dataFormat": data_format, "registry.name": "r", "schemaAutoRegistrationEnabled": True}
    return GlueSerializer(properties, source=registry, **settings)

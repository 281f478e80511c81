"""The names that the serialisers import from confluent-kafka. It is an extra, so a missing package is reported here."""

try:
    from confluent_kafka import Message
    from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext, Serializer
except ImportError as missing:
    raise ImportError("Serialisers for Kafka need the package confluent-kafka: pip install 'penstock[kafka]'") from missing

__all__ = ["Deserializer", "Message", "MessageField", "SerializationContext", "Serializer"]

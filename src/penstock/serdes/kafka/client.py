"""What the serialisers need of confluent-kafka, which is an extra's: its absence is said once, with what to install."""

try:
    from confluent_kafka import Message
    from confluent_kafka.serialization import Deserializer, MessageField, SerializationContext, Serializer
except ImportError as missing:
    raise ImportError("Serialisers for Kafka need the package confluent-kafka: pip install 'penstock[kafka]'") from missing

__all__ = ["Deserializer", "Message", "MessageField", "SerializationContext", "Serializer"]

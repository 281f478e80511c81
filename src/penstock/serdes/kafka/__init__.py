"""Serialisers and deserialisers for Kafka clients."""

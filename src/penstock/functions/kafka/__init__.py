"""The event source mapping of Kafka."""

"""Frames, Avro codecs and Kafka (de)serialisers, byte-compatible with AWS's Java serde for Glue Schema Registry."""

"""Frames, codecs of AVRO, JSON and PROTOBUF, (de)serialisers for Kafka and Kinesis; byte-compatible with the Java serde."""

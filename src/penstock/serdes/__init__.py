"""Frames, codecs of AVRO, JSON and PROTOBUF, and (de)serialisers for Kafka and Kinesis, byte-compatible with AWS's Java serde."""

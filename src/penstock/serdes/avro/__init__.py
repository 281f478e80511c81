"""Avro payloads: encoding, decoding, limits, and diagnosis of records that do not fit."""

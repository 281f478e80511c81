"""Avro payloads: encoding, limits, diagnosis of records that do not fit."""

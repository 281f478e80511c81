"""Kafka topics as a sink: records with their batch in a header, at least once."""

"""Avro: its type model, parser, canonical text, resolution rules."""

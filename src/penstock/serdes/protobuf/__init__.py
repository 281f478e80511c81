"""Protobuf payloads."""

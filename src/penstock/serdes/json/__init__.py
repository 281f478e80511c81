"""JSON payloads under JSON Schema."""

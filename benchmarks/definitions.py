"""Avro definitions for the benchmarks: a record of nine fields, different for each number and version."""

import json

__all__ = ["definition"]


def definition(number: int, version: int = 1) -> str:
    """Return the text of schema ``number`` at ``version``; each version adds one optional field to the one before."""
    fields: list[dict[str, object]] = [
        {"name": "id", "type": "long"},
        {"name": "device", "type": "string"},
        {"name": f"reading_{number}", "type": "double"},
        {"name": "ok", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ]
    fields += [{"name": f"extra_{n}", "type": ["null", "string"], "default": None} for n in range(3 + version)]
    return json.dumps({"type": "record", "name": f"Reading{number}", "namespace": "bench", "fields": fields})

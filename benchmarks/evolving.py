"""Schemas that evolve by widening, so that records of all versions have the same fields, and frames of them.

Nine versions of a record of twelve fields, and nine of a nested one. Each widens one number of the version before it. Where
a schema shall have more versions, those before the nine differ from the first in their documentation only.
"""

import json
import random
from collections.abc import Sequence
from typing import Any

from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.codec import message_writer

__all__ = ["VERSIONS", "frames", "nested", "plain", "with_history"]

VERSIONS = 9
_DISTINCT = 5_000
_STEPS = ("long", "float", "double")


def _numbers(version: int) -> list[str]:
    """Return the types of three numbers at a version; each step widens the next of them, in turn."""
    steps = [(version - 1 + 2 - place) // 3 for place in range(3)]
    return [("int", *_STEPS)[min(step, len(_STEPS))] for step in steps]


def plain(version: int) -> str:
    """Return version 1 to :data:`VERSIONS` of a flat record of twelve fields."""
    a, b, c = _numbers(version)
    fields: list[dict[str, Any]] = [
        {"name": "id", "type": "long"},
        {"name": "device", "type": "string"},
        {"name": "reading", "type": "double"},
        {"name": "ok", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        *({"name": f"extra_{n}", "type": ["null", "string"], "default": None} for n in range(4)),
        {"name": "a", "type": a},
        {"name": "b", "type": b},
        {"name": "c", "type": c},
    ]
    return _record("Reading", fields)


def nested(version: int) -> str:
    """Return version 1 to :data:`VERSIONS` of a record with records, an array of records and a map."""
    a, b, c = _numbers(version)
    customer = _type("Customer", name="string", city=["null", "string"], score=a)
    line = _type("Line", product="string", quantity=b, price="double", note=["null", "string"])
    fields: list[dict[str, Any]] = [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "customer", "type": customer},
        {"name": "lines", "type": {"type": "array", "items": line}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "weight", "type": c},
    ]
    return _record("Order", fields)


def _type(name: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields.items()]}


def _record(name: str, fields: Sequence[dict[str, Any]]) -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "bench", "fields": fields})


def with_history(definitions: Sequence[str], versions: int) -> list[str]:
    """Return the definitions after so many older ones that there are ``versions``."""
    first = json.loads(definitions[0])
    missing = versions - len(definitions)
    return [*(json.dumps({**first, "doc": f"Revision {number}."}) for number in range(missing)), *definitions]


def frames(versions: Sequence[SchemaVersion]) -> list[bytes]:
    """Return some thousand frames of records, of each version in turn."""
    chance = random.Random(7)
    writers = [message_writer(version.id, AvroSchema(version.definition)) for version in versions]
    make = _order if '"Order"' in versions[0].definition else _reading
    return [writers[number % len(writers)](make(number, chance)) for number in range(_DISTINCT)]


def _reading(number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "id": number,
        "device": f"device-{number % 100}",
        "reading": chance.random(),
        "ok": True,
        "at": 1_700_000_000_000 + number,
        **{f"extra_{n}": chance.choice([None, "text of some length"]) for n in range(4)},
        **{name: chance.randrange(1000) for name in "abc"},
    }


def _order(number: int, chance: random.Random) -> dict[str, Any]:
    lines = [
        {"product": f"p-{n}", "quantity": n + 1, "price": chance.random(), "note": None} for n in range(chance.randint(1, 4))
    ]
    return {
        "id": number,
        "at": 1_700_000_000_000 + number,
        "customer": {"name": f"customer {number % 100}", "city": chance.choice([None, "Lisbon"]), "score": number % 7},
        "lines": lines,
        "tags": {f"t{n}": "value" for n in range(3)},
        "weight": chance.randrange(1000),
    }

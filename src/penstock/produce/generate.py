"""Random values that fit an Avro schema: any schema, recursive ones and logical types included, the same for a seed."""

import random
import string
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.serdes.avro.codec import AvroSchema

__all__ = ["generate"]

_LETTERS = string.ascii_lowercase + string.digits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEEP = 4  # containers inside each other before the shortest way out is taken
_NEVER = 10**6


def generate(schema: AvroSchema, *, seed: int | None = None) -> Iterator[Any]:
    """Values without end. The same ``seed`` gives the same values; ``None`` takes one from the system."""
    maker = _Maker(schema, random.Random(seed))  # noqa: S311
    while True:
        yield maker.value(schema.parsed, 0)


class _Maker:
    def __init__(self, schema: AvroSchema, chance: random.Random) -> None:
        self._named = schema.named
        self._chance = chance
        self._heights = _heights(schema.named)

    def value(self, schema: Any, depth: int) -> Any:
        if isinstance(schema, list):
            return self._union(schema, depth)
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        return _PRIMITIVE[schema](self._chance) if isinstance(schema, str) else self._complex(schema, depth)

    def _complex(self, schema: Mapping[str, Any], depth: int) -> Any:
        kind, logical = schema["type"], schema.get("logicalType")
        if logical in _LOGICAL:
            return _LOGICAL[logical](self._chance, schema)
        if kind in {"record", "error"}:
            return {part["name"]: self.value(part["type"], depth + 1) for part in schema["fields"]}
        if kind == "array":
            return [self.value(schema["items"], depth + 1) for _ in range(self._count(depth))]
        if kind == "map":
            return {_word(self._chance): self.value(schema["values"], depth + 1) for _ in range(self._count(depth))}
        if kind in {"enum", "fixed"}:
            return self._chance.choice(schema["symbols"]) if kind == "enum" else self._chance.randbytes(schema["size"])
        return self.value(kind, depth)

    def _count(self, depth: int) -> int:
        return self._chance.randint(0, 3) if depth < _DEEP else 0

    def _union(self, branches: list[Any], depth: int) -> Any:
        if depth >= _DEEP:
            return self.value(min(branches, key=lambda branch: _height(branch, self._named, self._heights)), depth + 1)
        return self.value(self._chance.choice(branches), depth + 1)


def _heights(named: Mapping[str, Any]) -> dict[str, int]:
    """For each named type, how many records inside each other its smallest value has."""
    heights = dict.fromkeys(named, _NEVER)
    changed = True
    while changed:
        changed = False
        for name, schema in named.items():
            found = _height(schema, {}, heights)
            if found < heights[name]:
                heights[name] = found
                changed = True
    return heights


def _height(schema: Any, named: Mapping[str, Any], heights: Mapping[str, int]) -> int:
    if isinstance(schema, list):
        return min((_height(branch, named, heights) for branch in schema), default=_NEVER)
    if isinstance(schema, str):
        return heights.get(schema, 0)
    if schema["type"] in {"record", "error"}:
        return 1 + max((_height(part["type"], named, heights) for part in schema["fields"]), default=0)
    return 0


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(_LETTERS, k=chance.randint(1, 12)))


def _seconds(chance: random.Random) -> int:
    return chance.randrange(0, 2**31)


def _decimal(chance: random.Random, schema: Mapping[str, Any]) -> Decimal:
    digits, scale = int(schema["precision"]), int(schema.get("scale", 0))
    if schema["type"] == "fixed":
        # A fixed of n bytes holds two's complement numbers of 8n - 1 bits.
        digits = min(digits, len(str(2 ** (8 * schema["size"] - 1))) - 1)
    unscaled = chance.randrange(-(10**digits) + 1, 10**digits)
    sign, magnitude = (1, -unscaled) if unscaled < 0 else (0, unscaled)
    return Decimal((sign, tuple(int(digit) for digit in str(magnitude)), -scale))


def _moment(chance: random.Random, unit: int) -> datetime:
    return _EPOCH + timedelta(seconds=_seconds(chance), microseconds=chance.randrange(0, 10**6, unit))


def _clock(chance: random.Random, unit: int) -> time:
    part = chance.randrange(0, 10**6, unit)
    return time(chance.randrange(24), chance.randrange(60), chance.randrange(60), part)


_PRIMITIVE: dict[str, Any] = {
    "null": lambda _: None,
    "boolean": lambda chance: chance.random() < 0.5,
    "int": lambda chance: chance.randrange(-(2**31), 2**31),
    "long": lambda chance: chance.randrange(-(2**63), 2**63),
    # A float of 32 bits that Python's 64 hold exactly.
    "float": lambda chance: float(chance.randrange(-(2**23), 2**23)) / 64,
    "double": lambda chance: chance.uniform(-1e9, 1e9),
    "bytes": lambda chance: chance.randbytes(chance.randint(0, 16)),
    "string": _word,
}
_LOGICAL: dict[Any, Any] = {
    "date": lambda chance, _: date(1970, 1, 1) + timedelta(days=chance.randrange(0, 25_000)),
    "time-millis": lambda chance, _: _clock(chance, 1000),
    "time-micros": lambda chance, _: _clock(chance, 1),
    "timestamp-millis": lambda chance, _: _moment(chance, 1000),
    "timestamp-micros": lambda chance, _: _moment(chance, 1),
    "local-timestamp-millis": lambda chance, _: _moment(chance, 1000).replace(tzinfo=None),
    "local-timestamp-micros": lambda chance, _: _moment(chance, 1).replace(tzinfo=None),
    "decimal": _decimal,
    "uuid": lambda chance, _: UUID(int=chance.getrandbits(128), version=4),
}

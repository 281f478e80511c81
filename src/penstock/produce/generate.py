"""Random values of any Avro schema, recursive ones and logical types included; a seed repeats them."""

import random
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.schema.avro.fold import Fold, FunctionFold
from penstock.schema.avro.logical import decimal_digits, logical_type
from penstock.schema.avro.model import (
    ArrayType,
    EnumType,
    FixedType,
    MapType,
    PrimitiveType,
    RecordType,
    UnionType,
)
from penstock.schema.avro.model import AvroSchema as Tree
from penstock.serdes.avro.codec import AvroSchema

__all__ = ["generate"]

_LETTERS = string.ascii_lowercase + string.digits
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEEP = 4  # nested containers; below them, values are as small as possible
_NEVER = 10**6


def generate(schema: AvroSchema, *, seed: int | None = None) -> Iterator[Any]:
    """Yield values without end. The same ``seed`` gives the same values; ``None`` takes a seed from the system."""
    make = _MakerFold(schema.tree, random.Random(seed)).root()  # noqa: S311
    while True:
        yield make(0)


_Maker = Callable[[int], Any]  # its argument: the number of containers around the value


class _MakerFold(FunctionFold[[int], Any]):
    def __init__(self, schema: Tree, chance: random.Random) -> None:
        super().__init__(schema)
        self._chance = chance
        self._heights = _heights(schema)

    def primitive(self, avro_type: PrimitiveType) -> _Maker:
        chance, make = self._chance, _PRIMITIVE[avro_type.name]
        return self._logical(avro_type) or (lambda _: make(chance))

    def enum(self, avro_type: EnumType) -> _Maker:
        chance, symbols = self._chance, avro_type.symbols
        return lambda _: chance.choice(symbols)

    def fixed(self, avro_type: FixedType) -> _Maker:
        chance, size = self._chance, avro_type.size
        return self._logical(avro_type) or (lambda _: chance.randbytes(size))

    def _logical(self, avro_type: PrimitiveType | FixedType) -> _Maker | None:
        chance, make = self._chance, _LOGICAL.get(logical_type(avro_type) or "")
        return (lambda _: make(chance, avro_type)) if make is not None else None

    def array(self, avro_type: ArrayType, items: _Maker) -> _Maker:  # noqa: ARG002
        return lambda depth: [items(depth + 1) for _ in range(self._count(depth))]

    def map(self, avro_type: MapType, values: _Maker) -> _Maker:  # noqa: ARG002
        return lambda depth: {_word(self._chance): values(depth + 1) for _ in range(self._count(depth))}

    def _count(self, depth: int) -> int:
        return self._chance.randint(0, 3) if depth < _DEEP else 0

    def union(self, avro_type: UnionType, branches: Sequence[_Maker]) -> _Maker:
        chance = self._chance
        lowest = min(zip(branches, map(self._heights.of, avro_type.branches), strict=True), key=lambda pair: pair[1])[0]
        return lambda depth: (lowest if depth >= _DEEP else chance.choice(branches))(depth + 1)

    def record(self, avro_type: RecordType, fields: Sequence[_Maker]) -> _Maker:
        parts = [(field.name, make) for field, make in zip(avro_type.fields, fields, strict=True)]
        return lambda depth: {name: make(depth + 1) for name, make in parts}


class _HeightFold(Fold[int]):
    """The depth of nested records in a type's smallest value; ``known`` has the depths of records, or bounds of them."""

    def __init__(self, schema: Tree, heights: Mapping[str, int]) -> None:
        super().__init__(schema)
        self._heights = heights

    def primitive(self, avro_type: PrimitiveType) -> int:  # noqa: ARG002
        return 0

    def enum(self, avro_type: EnumType) -> int:  # noqa: ARG002
        return 0

    def fixed(self, avro_type: FixedType) -> int:  # noqa: ARG002
        return 0

    def array(self, avro_type: ArrayType, items: int) -> int:  # noqa: ARG002
        return 0

    def map(self, avro_type: MapType, values: int) -> int:  # noqa: ARG002
        return 0

    def union(self, avro_type: UnionType, branches: Sequence[int]) -> int:  # noqa: ARG002
        return min(branches)

    def record(self, avro_type: RecordType, fields: Sequence[int]) -> int:  # noqa: ARG002
        return min(_NEVER, 1 + max(fields, default=0))

    def recursive(self, avro_type: RecordType) -> int:
        return self._heights.get(avro_type.name, _NEVER)


def _heights(schema: Tree) -> _HeightFold:
    """Return the heights of a schema's types, folded again until those of recursive records no longer change."""
    heights: dict[str, int] = {}
    while True:
        fold = _HeightFold(schema, heights)
        fold.root()
        results = {name: fold.result_of(name) for name in schema.names}
        if results == heights:
            return fold
        heights = results


def _word(chance: random.Random) -> str:
    return "".join(chance.choices(_LETTERS, k=chance.randint(1, 12)))


def _seconds(chance: random.Random) -> int:
    return chance.randrange(0, 2**31)


def _decimal(chance: random.Random, avro_type: PrimitiveType | FixedType) -> Decimal:
    digits, scale = decimal_digits(avro_type) or (1, 0)
    if isinstance(avro_type, FixedType):
        # A fixed of n bytes holds two's complement numbers of 8n - 1 bits.
        digits = min(digits, len(str(2 ** (8 * avro_type.size - 1))) - 1)
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
    # A 32-bit float, which Python's 64 bits hold exactly.
    "float": lambda chance: float(chance.randrange(-(2**23), 2**23)) / 64,
    "double": lambda chance: chance.uniform(-1e9, 1e9),
    "bytes": lambda chance: chance.randbytes(chance.randint(0, 16)),
    "string": _word,
}
_LOGICAL: dict[str, Any] = {
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

"""The stream that faults are tried on: record N is known, and so is what has to become of it."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import fastavro

from tests.integration.spark.stream import DEFINITIONS

__all__ = ["DAMAGED_EVERY", "Expected", "encoded", "expected"]

DAMAGED_EVERY = 97
_PARTITIONS = 2


@dataclass(frozen=True, slots=True)
class Expected:
    """A row: id, day, seats, partition and offset."""

    id: int
    day: str
    seats: int | None
    partition: int
    offset: int


def _damaged(number: int) -> bool:
    return number % DAMAGED_EVERY == DAMAGED_EVERY - 1


def _day(number: int) -> str:
    return f"2013-01-0{1 + number % 3}"


def encoded(first: int, count: int, versions: Sequence[UUID]) -> Iterator[bytes]:
    """Yield records ``first`` on, in turn for each partition: odd ids as version 1, even ones as version 2, some damaged."""
    schemas = [fastavro.parse_schema(dict(definition)) for definition in DEFINITIONS[:2]]
    heads = [b"\x03\x00" + version.bytes for version in versions[:2]]
    for number in range(first, first + count):
        if _damaged(number):
            yield b"damaged %d" % number
            continue
        which = 0 if number % 2 else 1
        body = io.BytesIO()
        record = {"id": number, "day": _day(number)} | ({"seats": number % 500} if which else {})
        fastavro.schemaless_writer(body, schemas[which], record)
        yield heads[which] + body.getvalue()


def expected(count: int) -> tuple[list[Expected], dict[tuple[int, int], bytes]]:
    """Return the rows, by id, and the dead letters, by partition and offset, of the first ``count`` records."""
    rows, dead = [], {}
    for number in range(count):
        partition, offset = number % _PARTITIONS, number // _PARTITIONS
        if _damaged(number):
            dead[partition, offset] = b"damaged %d" % number
        else:
            seats = None if number % 2 else number % 500
            rows.append(Expected(number, _day(number), seats, partition, offset))
    return rows, dead

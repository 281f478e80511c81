"""Decodes real records with a definition that is not registered yet: which ones it breaks, and which were broken before."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

from penstock.schema.version import SchemaText
from penstock.serdes.codec import MessageReader
from penstock.serdes.errors import SerdeError
from penstock.serdes.ports import ConfluentSource, SchemaSource

__all__ = ["Breakage", "Trial", "try_records"]

_KEPT_PLACES = 20
_KEPT_KINDS = 100
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """Records that fail in the same way. ``places`` are (partition, offset) of the first of them."""

    reason: str
    writer: str
    message: str
    count: int
    places: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        places = [{"partition": partition, "offset": offset} for partition, offset in self.places]
        return {
            "reason": self.reason,
            "writer": self.writer,
            "message": self.message,
            "count": self.count,
            "records": places,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Counts of records. ``broken``: readable with their own schema and not with the new definition.

    ``unreadable``: not readable with their own schema either, so the new definition is not the cause.
    """

    topic: str
    partitions: int
    records: int
    tombstones: int
    readable: int
    broken: tuple[Breakage, ...]
    unreadable: tuple[Breakage, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the value as JSON."""
        return {
            "topic": self.topic,
            "partitions": self.partitions,
            "records": self.records,
            "tombstones": self.tombstones,
            "readable": self.readable,
            "broken": [breakage.to_json() for breakage in self.broken],
            "unreadable": [breakage.to_json() for breakage in self.unreadable],
        }


def try_records(
    topic: str,
    messages: Iterable[Message],
    definition: SchemaText,
    source: SchemaSource,
    *,
    confluent: ConfluentSource | None = None,
    key: bool = False,
) -> Trial:
    """Decode each record's value (or ``key``), written with its own version, with ``definition`` as the reader schema.

    JSON is validated against the definition; Protobuf is read as its message of the same name.

    Raises :class:`~penstock.serdes.errors.UnreadableSchema` if the definition cannot be used at all, and the sources'
    errors if a registry does not answer.
    """
    new = MessageReader(source, confluent=confluent, reader_schema=definition)
    own = MessageReader(source, confluent=confluent, formats=(definition.data_format,))
    broken, unreadable = _Kinds(), _Kinds()
    partitions: set[int | None] = set()
    records = tombstones = readable = 0
    for message in messages:
        records += 1
        partitions.add(message.partition())
        data, headers = message.key() if key else message.value(), message.headers()
        if data is None:
            tombstones += 1
            continue
        try:
            new.read(data, headers, key=key)
            readable += 1
        except SerdeError as error:
            try:
                own.read(data, headers, key=key)
            except SerdeError as earlier:
                unreadable.add(earlier, "an unknown schema", message)
            else:
                broken.add(error, own.origin(data, headers, key=key), message)
    return Trial(
        topic=topic,
        partitions=len(partitions),
        records=records,
        tombstones=tombstones,
        readable=readable,
        broken=broken.all(),
        unreadable=unreadable.all(),
    )


@dataclass(slots=True)
class _Kind:
    error: SerdeError
    count: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)


class _Kinds:
    """Failures by reason, writer and text (without its numbers); bounded, since a topic can hold anything."""

    def __init__(self) -> None:
        self._by_shape: dict[tuple[str, str, str], _Kind] = {}

    def add(self, error: SerdeError, writer: str, message: Message) -> None:
        shape = (error.reason, writer, _NUMBERS.sub("#", error.message))
        if shape not in self._by_shape and len(self._by_shape) >= _KEPT_KINDS:
            shape = (error.reason, writer, "")
        kind = self._by_shape.setdefault(shape, _Kind(error))
        kind.count += 1
        if len(kind.places) < _KEPT_PLACES:
            kind.places.append((message.partition() or 0, message.offset() or 0))

    def all(self) -> tuple[Breakage, ...]:
        ordered = sorted(self._by_shape.items(), key=lambda item: -item[1].count)
        return tuple(
            Breakage(
                reason=reason, writer=writer, message=str(kind.error), count=kind.count, places=tuple(sorted(kind.places))
            )
            for (reason, writer, _), kind in ordered
        )

"""Errors of messages that cannot be read or written::

    SerdeError (DataProblem)
    ├── NotFramed                the first byte is not the frame's, or the compression byte is unknown
    ├── TruncatedFrame           shorter than a frame
    ├── UnknownWriterSchema      the registry has no schema version with the id in the frame
    ├── CorruptCompression       the zlib stream is damaged or cut
    ├── PayloadTooLarge          inflates beyond the limit, nests too deep, or claims too many items
    ├── TruncatedPayload         ends inside a value
    ├── DamagedAggregate         an aggregated record of Kinesis whose checksum or layout is wrong
    ├── TrailingBytes            bytes after the value
    ├── MalformedPayload         not a value of the schema
    ├── UnreadableSchema         the definition cannot be used, or the reader's schema cannot read the writer's
    └── IncompatibleValue        a value to serialise does not fit its schema
        ├── MissingField         a field without a default is missing
        └── UnknownField         a field that the schema does not have

``reason`` is a stable code for dead-letter tables and metrics.
"""

from typing import ClassVar
from uuid import UUID

from penstock.errors import DataProblem

__all__ = [
    "CorruptCompression",
    "DamagedAggregate",
    "IncompatibleValue",
    "MalformedPayload",
    "MissingField",
    "NotFramed",
    "PayloadTooLarge",
    "SerdeError",
    "TrailingBytes",
    "TruncatedFrame",
    "TruncatedPayload",
    "UnknownField",
    "UnknownWriterSchema",
    "UnreadableSchema",
]


class SerdeError(DataProblem):
    """A message that cannot be read or written. :meth:`at` and :meth:`of` add its place and its schema.

    ``schema`` is REGISTRY/NAME, ``version`` its number and ``version_id`` the id in the frame; each is ``None`` if it is not
    known. ``path`` leads from the record's root to the fault, as in ``Order.lines[3].price``.
    """

    reason: ClassVar[str] = "serde-error"

    def __init__(self, message: str, *, path: str = "", remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.path = path
        self.topic: str | None = None
        self.partition: int | str | None = None
        self.offset: int | str | None = None
        self.schema: str | None = None
        self.version: int | None = None
        self.version_id: UUID | None = None
        self._plain = message
        self._places: tuple[str, ...] = ()

    def at(self, topic: str | None, partition: int | None = None, offset: int | None = None) -> "SerdeError":
        """Add the message's place in Kafka to the error's text, and return the error."""
        if self.topic is None and topic is not None:
            self.topic, self.partition, self.offset = topic, partition, offset
            self._render(topic=topic, partition=partition, offset=offset)
        return self

    def in_stream(self, stream: str | None, shard: str | None = None, sequence: str | None = None) -> "SerdeError":
        """Add the record's place in Kinesis to the error's text, and return the error.

        Stream, shard and sequence number are stored as ``topic``, ``partition`` and ``offset``.
        """
        if self.topic is None and (stream or sequence):
            self.topic, self.partition, self.offset = stream, shard, sequence
            self._render(stream=stream, shard=shard, **{"sequence number": sequence})
        return self

    def of(self, schema: str, version: int | None = None, version_id: UUID | None = None) -> "SerdeError":
        """Add the schema's name and version to the error's text, and return the error."""
        if self.schema is None:
            self.schema, self.version, self.version_id = schema, version, version_id
            self._render(**{"schema": schema, "version": version or version_id})
        return self

    def _render(self, **parts: object) -> None:
        described = ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)
        self._places = (*self._places, described)
        self.message = f"{self._plain} ({'; '.join(self._places)})"


class NotFramed(SerdeError):
    """The bytes were not written by a Glue Schema Registry serialiser."""

    reason = "not-framed"


class TruncatedFrame(SerdeError):
    """The message has fewer bytes than a frame."""

    reason = "truncated-frame"


class UnknownWriterSchema(SerdeError):
    """The registry has no schema version with the frame's id."""

    reason = "unknown-schema-version"


class CorruptCompression(SerdeError):
    """The compressed payload cannot be inflated."""

    reason = "corrupt-compression"


class PayloadTooLarge(SerdeError):
    """Reading or writing the message would take more memory or stack than allowed."""

    reason = "payload-too-large"


class DamagedAggregate(SerdeError):
    """A record begins like an aggregated record, and its checksum or its content is wrong."""

    reason = "damaged-aggregate"


class TruncatedPayload(SerdeError):
    """The payload ends inside a value."""

    reason = "truncated-payload"


class TrailingBytes(SerdeError):
    """The payload goes on after its value."""

    reason = "trailing-bytes"


class MalformedPayload(SerdeError):
    """The payload is not a value of its schema."""

    reason = "malformed-payload"


class UnreadableSchema(SerdeError):
    """A schema definition cannot be used."""

    reason = "unreadable-schema"


class IncompatibleValue(SerdeError):
    """A value does not fit the schema to write it with; ``path`` is the fault's path from the record's root."""

    reason = "incompatible-value"


class MissingField(IncompatibleValue):
    """A required field is not in the record."""

    reason = "missing-field"


class UnknownField(IncompatibleValue):
    """The record has a field that the schema lacks, so its value would be lost."""

    reason = "unknown-field"

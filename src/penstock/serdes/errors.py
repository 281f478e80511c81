"""What can be wrong with a message, as errors::

    SerdeError (DataProblem)
    ├── NotFramed                first byte is not the frame's, or the compression byte is unknown
    ├── TruncatedFrame           shorter than a frame
    ├── UnknownWriterSchema      no schema version has the id in the frame
    ├── CorruptCompression       the zlib stream is damaged or cut
    ├── PayloadTooLarge          inflates beyond the limit, nests too deep, or claims too many items
    ├── TruncatedPayload         ends inside a value
    ├── DamagedAggregate         an aggregated record of Kinesis whose checksum or layout is wrong
    ├── TrailingBytes            bytes after the value
    ├── MalformedPayload         not a value of the schema
    ├── UnreadableSchema         the definition is no usable schema, or the reader's does not fit the writer's
    └── IncompatibleValue        a value to serialise does not fit its schema
        ├── MissingField         a field without default is not there
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
    """A message that cannot be read or written. :meth:`at` and :meth:`of` add where it was found, and with which schema.

    ``schema`` is REGISTRY/NAME, ``version`` its number, ``version_id`` the id in the frame, as far as they are known;
    ``path`` leads from the record's root to what is wrong, as in ``Order.lines[3].price``.
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
        """The same error with the message's place in Kafka added to its text."""
        if self.topic is None and topic is not None:
            self.topic, self.partition, self.offset = topic, partition, offset
            self._render(topic=topic, partition=partition, offset=offset)
        return self

    def in_stream(self, stream: str | None, shard: str | None = None, sequence: str | None = None) -> "SerdeError":
        """The same error with the record's place in Kinesis added to its text; kept as topic, partition and offset."""
        if self.topic is None and (stream or sequence):
            self.topic, self.partition, self.offset = stream, shard, sequence
            self._render(stream=stream, shard=shard, **{"sequence number": sequence})
        return self

    def of(self, schema: str, version: int | None = None, version_id: UUID | None = None) -> "SerdeError":
        """The same error with its schema's name and version added to its text."""
        if self.schema is None:
            self.schema, self.version, self.version_id = schema, version, version_id
            self._render(**{"schema": schema, "version": version or version_id})
        return self

    def _render(self, **parts: object) -> None:
        known = ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None)
        self._places = (*self._places, known)
        self.message = f"{self._plain} ({'; '.join(self._places)})"


class NotFramed(SerdeError):
    """The bytes were not written by a Glue Schema Registry serialiser."""

    reason = "not-framed"


class TruncatedFrame(SerdeError):
    """Fewer bytes than a frame has."""

    reason = "truncated-frame"


class UnknownWriterSchema(SerdeError):
    """The registry has no schema version with the frame's id."""

    reason = "unknown-schema-version"


class CorruptCompression(SerdeError):
    """The compressed payload cannot be inflated."""

    reason = "corrupt-compression"


class PayloadTooLarge(SerdeError):
    """Decoding would take more memory or stack than allowed."""

    reason = "payload-too-large"


class DamagedAggregate(SerdeError):
    """A record begins as an aggregated one and is none."""

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
    """A value does not fit the schema it is to be written with; ``path`` says where, from the record's root."""

    reason = "incompatible-value"


class MissingField(IncompatibleValue):
    """A required field is not in the record."""

    reason = "missing-field"


class UnknownField(IncompatibleValue):
    """The record has a field that the schema has not, which would be lost."""

    reason = "unknown-field"

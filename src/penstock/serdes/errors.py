"""What can be wrong with a message, as errors::

    SerdeError (DataProblem)
    ├── NotFramed                first byte is not the frame's, or the compression byte is unknown
    ├── TruncatedFrame           shorter than a frame
    ├── UnknownWriterSchema      no schema version has the id in the frame
    ├── CorruptCompression       the zlib stream is damaged or cut
    ├── PayloadTooLarge          inflates beyond the limit, nests too deep, or claims too many items
    ├── TruncatedPayload         ends inside a value
    ├── TrailingBytes            bytes after the value
    ├── MalformedPayload         not a value of the schema
    ├── UnreadableSchema         the definition is no usable schema, or the reader's does not fit the writer's
    └── IncompatibleValue        a value to serialise does not fit its schema
        ├── MissingField         a field without default is not there
        └── UnknownField         a field that the schema does not have

``reason`` is a stable code for dead-letter tables and metrics.
"""

from typing import ClassVar

from penstock.errors import DataProblem

__all__ = [
    "CorruptCompression",
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
    """A message that cannot be read or written. :meth:`at` adds where it was found."""

    reason: ClassVar[str] = "serde-error"

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.topic: str | None = None
        self.partition: int | None = None
        self.offset: int | None = None

    def at(self, topic: str | None, partition: int | None = None, offset: int | None = None) -> "SerdeError":
        """The same error with the message's place added to its text."""
        place = [("topic", topic), ("partition", partition), ("offset", offset)]
        known = [f"{name} {value}" for name, value in place if value is not None]
        if known and self.topic is None:
            self.topic, self.partition, self.offset = topic, partition, offset
            self.message = f"{self.message} ({', '.join(known)})"
        return self


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

    def __init__(self, message: str, *, path: str = "", remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.path = path


class MissingField(IncompatibleValue):
    """A required field is not in the record."""

    reason = "missing-field"


class UnknownField(IncompatibleValue):
    """The record has a field that the schema has not, which would be lost."""

    reason = "unknown-field"

"""What a schema format is: one protocol that Avro, JSON Schema and Protobuf each implement."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from penstock.schema.incompatibility import Incompatibility

__all__ = ["MAX_DEFINITION_CHARS", "Field", "ParsedSchema", "SchemaFormat", "fingerprint"]

MAX_DEFINITION_CHARS = 170_000  # SchemaDefinitionString in the Glue API model


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field at the top of a schema. ``type`` is the format's own text, ``required`` means that it has no default."""

    name: str
    type: str
    doc: str | None = None
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSchema:
    """A definition that passed its format's rules.

    ``canonical`` is the same text for all spellings of one schema; ``fingerprint`` is its SHA-256 in hexadecimal (64
    characters); ``tree`` belongs to the format.
    """

    data_format: str
    text: str
    canonical: str
    fingerprint: str
    tree: Any = field(repr=False, compare=False)


class SchemaFormat(Protocol):
    """The rules of one data format, free of I/O and state."""

    @property
    def name(self) -> str:
        """Glue's DataFormat: AVRO, JSON or PROTOBUF."""

    def parse(self, text: str) -> ParsedSchema:
        """Check and canonicalise ``text``; :class:`~penstock.schema.errors.InvalidSchema` says what is wrong where."""

    def readable(self, reader: ParsedSchema, writer: ParsedSchema) -> list[Incompatibility]:
        """Why ``reader`` cannot read data of ``writer``; empty when it can."""

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """The fields at the top; empty for a schema that has none."""


def fingerprint(canonical: str) -> str:
    """SHA-256 of a canonical text, in hexadecimal."""
    return sha256(canonical.encode()).hexdigest()

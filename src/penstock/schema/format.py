"""What a schema format is: one protocol that Avro, JSON Schema and Protobuf each implement."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from penstock.schema.hive import HiveColumn
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import CompatibilityRules

__all__ = ["DATA_FORMATS", "MAX_DEFINITION_CHARS", "Field", "ParsedSchema", "ReferencedText", "SchemaFormat", "fingerprint"]

DATA_FORMATS = ("AVRO", "JSON", "PROTOBUF")
"""Names of the formats, as Glue's DataFormat; their rules are in :data:`penstock.schema.formats.FORMATS`."""

MAX_DEFINITION_CHARS = 170_000  # SchemaDefinitionString in the Glue API model


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field at the top of a schema. ``type`` is the format's own text, ``required`` means that it has no default."""

    name: str
    type: str
    doc: str | None = None
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencedText:
    """Another registered definition that a definition builds on.

    ``name`` is how the definition calls it: an Avro full name, the URI of a JSON ``$ref``, the path of a Protobuf import.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSchema:
    """A definition that passed its format's rules.

    ``canonical`` is the same text for all spellings of one schema; ``fingerprint`` is the SHA-256 in hexadecimal (64
    characters) of that text and of all it builds on; ``tree`` belongs to the format.
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
        """Glue's DataFormat: one of :data:`DATA_FORMATS`."""

    @property
    def ending(self) -> str:
        """How names of files with definitions end: ``.avsc``."""

    def parse(self, text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> ParsedSchema:
        """Check and canonicalise ``text``; :class:`~penstock.schema.errors.InvalidSchema` says what is wrong where.

        ``references`` holds all that ``text`` builds on, directly or not, each behind what it builds on itself. Nothing else
        is ever looked up: no file, no URL. ``legacy`` takes what registries once took and no longer do, where the format has
        such: definitions that come with the id under which records were written.
        """

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        """Why ``reader`` cannot read data of ``writer``; empty when it can."""

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """The fields at the top; empty for a schema that has none."""

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """The table columns of ``schema``; :class:`~penstock.schema.errors.NoColumns` where it has no such counterpart."""

    def standalone(self, schema: ParsedSchema) -> str:
        """A definition that builds on nothing, of which all that is written with ``schema`` can be read.

        :class:`~penstock.schema.errors.NotSelfContained` where there is none.
        """

    def pretty(self, schema: ParsedSchema) -> str:
        """The canonical form over many lines, for people and for diffs."""

    def document(self, schema: ParsedSchema) -> Any:
        """The canonical form as a JSON value, for comparing member by member."""


def fingerprint(canonical: str) -> str:
    """SHA-256 of a canonical text, in hexadecimal."""
    return sha256(canonical.encode()).hexdigest()

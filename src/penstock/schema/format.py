"""The protocol of a schema format, which Avro, JSON Schema and Protobuf implement."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, Protocol

from penstock.schema.columns import HiveColumn
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import CompatibilityRules

__all__ = ["DATA_FORMATS", "MAX_DEFINITION_CHARS", "Field", "ParsedSchema", "ReferencedText", "SchemaFormat", "fingerprint"]

DATA_FORMATS = ("AVRO", "JSON", "PROTOBUF")
"""Names of the formats, as Glue's DataFormat; their rules are in :data:`penstock.schema.formats.FORMATS`."""

MAX_DEFINITION_CHARS = 170_000  # SchemaDefinitionString in the Glue API model


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A top-level field of a schema. ``type`` is the format's own text; ``required`` means that it has no default."""

    name: str
    type: str
    doc: str | None = None
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencedText:
    """Another registered definition that a definition refers to.

    ``name`` is the name that the definition uses: an Avro full name, the URI of a JSON ``$ref``, a Protobuf import path.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSchema:
    """A definition that passed its format's rules.

    ``canonical`` is the same text for all spellings of one schema. ``fingerprint`` is the SHA-256 in hexadecimal (64
    characters) of that text and of all definitions it refers to. ``tree`` is the format's own representation.
    """

    data_format: str
    text: str
    canonical: str
    fingerprint: str
    tree: Any = field(repr=False, compare=False)


class SchemaFormat(Protocol):
    """The rules of one data format, free of I/O and state: each format is a subclass."""

    name: ClassVar[str]
    """Glue's DataFormat: one of :data:`DATA_FORMATS`."""

    ending: ClassVar[str]
    """How names of files with definitions end: ``.avsc``."""

    def parse(self, text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> ParsedSchema:
        """Check and canonicalise ``text``. Raise :class:`~penstock.schema.errors.InvalidSchema` with the fault and its path.

        ``references`` are all definitions that ``text`` refers to, directly or not, each after those it refers to itself.
        Nothing else is ever looked up: no file, no URL. ``legacy`` accepts definitions that registries once accepted and no
        longer do, if the format has any: those that are imported with the id under which records were written.
        """

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        """Return why ``reader`` cannot read data of ``writer``; empty if it can."""

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """Return the fields at the top; empty for a schema that has none."""

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """Return the table columns of ``schema``. Raise :class:`~penstock.schema.errors.NoColumns` if it has none."""

    def standalone(self, schema: ParsedSchema) -> str:
        """Return a definition without references that reads all data written with ``schema``.

        Raise :class:`~penstock.schema.errors.NotSelfContained` if there is none.
        """

    def pretty(self, schema: ParsedSchema) -> str:
        """Return the canonical form over many lines, human-readable and for diffs."""
        return json.dumps(self.document(schema), indent=2, ensure_ascii=False)

    def document(self, schema: ParsedSchema) -> Any:
        """Return the canonical form as a JSON value, for comparison member by member."""
        return json.loads(schema.canonical)


def fingerprint(canonical: str) -> str:
    """Return the SHA-256 of a canonical text, in hexadecimal."""
    return sha256(canonical.encode()).hexdigest()

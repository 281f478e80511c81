"""Avro as a :class:`~penstock.schema.format.SchemaFormat`."""

import json
from collections.abc import Sequence
from typing import Any

from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.columns import columns
from penstock.schema.avro.model import AvroSchema, RecordType, describe
from penstock.schema.avro.parse import parse_avro, parse_registered
from penstock.schema.avro.resolve import incompatibilities
from penstock.schema.columns import HiveColumn
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import Field, ParsedSchema, ReferencedText, fingerprint
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import CompatibilityRules

__all__ = ["AvroFormat"]


class AvroFormat:
    """Avro 1.11, the version AWS runs."""

    @property
    def name(self) -> str:
        """Glue's DataFormat."""
        return "AVRO"

    @property
    def ending(self) -> str:
        """How names of files with definitions end."""
        return ".avsc"

    def parse(self, text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> ParsedSchema:
        """Check and canonicalise ``text``. Raise :class:`~penstock.schema.errors.InvalidSchema` with the fault and its path.

        ``references`` are definitions whose named types ``text`` may use; the canonical text contains the used ones. With
        ``legacy`` names and defaults are not checked, as in Confluent's AvroSchema for a schema that is not new.
        """
        tree = parse_avro(text, references, legacy=legacy)
        canonical = canonical_text(tree)
        if references:
            _check_alone(canonical)
        return ParsedSchema(
            data_format=self.name, text=text, canonical=canonical, fingerprint=fingerprint(canonical), tree=tree
        )

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        """Return why ``reader`` cannot read data of ``writer``; empty if it can."""
        return incompatibilities(reader.tree, writer.tree, rules.avro)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """Return the table columns of a record. Raise :class:`~penstock.schema.errors.NoColumns` for other types."""
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        """Return the canonical text, which contains the used types."""
        return schema.canonical

    def pretty(self, schema: ParsedSchema) -> str:
        """Return the canonical form, one attribute per line."""
        return json.dumps(self.document(schema), indent=2, ensure_ascii=False)

    def document(self, schema: ParsedSchema) -> Any:
        """Return the canonical form as a JSON value."""
        return json.loads(schema.canonical)

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """Return the fields of a top-level record; none for any other type."""
        tree: AvroSchema = schema.tree
        if not isinstance(tree.root, RecordType):
            return ()
        return tuple(
            Field(name=item.name, type=describe(item.type), doc=item.doc, required=not item.has_default)
            for item in tree.root.fields
        )


def _check_alone(canonical: str) -> None:
    """Raise :class:`InvalidSchema` if a bare name means another type when all types are in one text."""
    try:
        parsed_again = canonical_text(parse_registered(json.loads(canonical)))
    except InvalidSchema as error:
        parsed_again, why = "", f": {error}"
    else:
        why = "."
    if parsed_again != canonical:
        raise InvalidSchema(
            f"Joined with the types of the referenced schemas, the definition has another meaning{why}",
            remedy="Write the full names of types, with their namespaces.",
        )

"""Avro as a :class:`~penstock.schema.format.SchemaFormat`."""

import json
from collections.abc import Sequence

from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.columns import columns
from penstock.schema.avro.model import AvroSchema, RecordType, describe
from penstock.schema.avro.parse import parse_avro, parse_registered
from penstock.schema.avro.resolve import incompatibilities
from penstock.schema.columns import HiveColumn
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import Field, ParsedSchema, ReferencedText, SchemaFormat, fingerprint
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.rules import CompatibilityRules

__all__ = ["AvroFormat"]


class AvroFormat(SchemaFormat):
    """Avro 1.11, the version AWS runs."""

    name = "AVRO"
    ending = ".avsc"

    def parse(self, text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> ParsedSchema:
        # With ``legacy`` names and defaults are not checked, as in Confluent's AvroSchema for a schema that is not new.
        tree = parse_avro(text, references, legacy=legacy)
        canonical = canonical_text(tree)
        if references:
            _check_alone(canonical)
        return ParsedSchema(
            data_format=self.name, text=text, canonical=canonical, fingerprint=fingerprint(canonical), tree=tree
        )

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        return incompatibilities(reader.tree, writer.tree, rules.avro)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        return schema.canonical  # it contains the types of the references that it uses

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        tree: AvroSchema = schema.tree
        if not isinstance(tree.root, RecordType):
            return ()
        return tuple(
            Field(name=field.name, type=describe(field.type), doc=field.doc, required=not field.has_default)
            for field in tree.root.fields
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

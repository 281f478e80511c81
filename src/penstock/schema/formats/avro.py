"""Avro as a :class:`~penstock.schema.format.SchemaFormat`."""

import json
from collections.abc import Sequence
from typing import Any

from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.hive import columns
from penstock.schema.avro.model import AvroSchema, RecordType, describe
from penstock.schema.avro.parse import parse_avro, parse_registered
from penstock.schema.avro.resolve import incompatibilities
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import Field, ParsedSchema, ReferencedText, fingerprint
from penstock.schema.hive import HiveColumn
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
        """Check and canonicalise ``text``; :class:`~penstock.schema.errors.InvalidSchema` says what is wrong where.

        ``references`` are definitions whose named types ``text`` may use; the canonical text has the used ones in it. With
        ``legacy`` names and defaults are not checked: Confluent's AvroSchema, where it is not new.
        """
        tree = parse_avro(text, references, legacy=legacy)
        canonical = canonical_text(tree)
        if references:
            _check_alone(canonical)
        return ParsedSchema(
            data_format=self.name, text=text, canonical=canonical, fingerprint=fingerprint(canonical), tree=tree
        )

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        """Why ``reader`` cannot read data of ``writer``; empty when it can."""
        return incompatibilities(reader.tree, writer.tree, rules.avro)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """The table columns of a record; :class:`~penstock.schema.errors.NoColumns` for other types."""
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        """The canonical text, which has the used types in it."""
        return schema.canonical

    def pretty(self, schema: ParsedSchema) -> str:
        """The canonical form, one attribute a line."""
        return json.dumps(self.document(schema), indent=2, ensure_ascii=False)

    def document(self, schema: ParsedSchema) -> Any:
        """The canonical form as a JSON value."""
        return json.loads(schema.canonical)

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """The fields of a record at the top; none for any other type."""
        tree: AvroSchema = schema.tree
        if not isinstance(tree.root, RecordType):
            return ()
        return tuple(
            Field(name=item.name, type=describe(item.type), doc=item.doc, required=not item.has_default)
            for item in tree.root.fields
        )


def _check_alone(canonical: str) -> None:
    """Raise :class:`InvalidSchema` where a bare name means another type once all types stand in one text."""
    try:
        again = canonical_text(parse_registered(json.loads(canonical)))
    except InvalidSchema as error:
        again, why = "", f": {error}"
    else:
        why = "."
    if again != canonical:
        raise InvalidSchema(
            f"With the types of the referenced schemas in it the definition means something else{why}",
            remedy="Write the full names of types, with their namespaces.",
        )

"""JSON Schema as a :class:`~penstock.schema.format.SchemaFormat`."""

import json
from collections.abc import Sequence
from typing import Any

from penstock.schema.columns import HiveColumn
from penstock.schema.format import Field, ParsedSchema, ReferencedText, fingerprint
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.bundle import bundled
from penstock.schema.jsonschema.canonical import canonical_texts
from penstock.schema.jsonschema.columns import columns, fields
from penstock.schema.jsonschema.compatibility.compare import incompatibilities
from penstock.schema.jsonschema.document import read_document
from penstock.schema.jsonschema.model import JsonSchema
from penstock.schema.rules import CompatibilityRules

__all__ = ["JsonSchemaFormat"]


class JsonSchemaFormat:
    """Drafts 04, 06 and 07 as in Glue, and also 2019-09 and 2020-12."""

    @property
    def name(self) -> str:
        """Glue's DataFormat."""
        return "JSON"

    @property
    def ending(self) -> str:
        """How names of files with definitions end."""
        return ".json"

    def parse(
        self,
        text: str,
        references: Sequence[ReferencedText] = (),
        *,
        legacy: bool = False,
    ) -> ParsedSchema:
        """Check and canonicalise ``text``. Raise :class:`~penstock.schema.errors.InvalidSchema` with the fault and its path.

        Raise :class:`~penstock.errors.EnvironmentProblem` if the extra ``json`` is not installed.
        """
        document = read_document(text, references, legacy=legacy)
        canonical, identity = canonical_texts(document)
        return ParsedSchema(
            data_format=self.name,
            text=text,
            canonical=canonical,
            fingerprint=fingerprint(identity),
            tree=JsonSchema(document),
        )

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        """Return why ``reader`` does not accept documents of ``writer``; empty if it does."""
        return incompatibilities(reader.tree, writer.tree, rules.json)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """Return the table columns of an object. Raise :class:`~penstock.schema.errors.NoColumns` for other types."""
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        """Return the definition joined with all it refers to. Raise :class:`~penstock.schema.errors.NotSelfContained`."""
        return bundled(schema.tree.document, schema.text)

    def pretty(self, schema: ParsedSchema) -> str:
        """Return the canonical form, one member per line."""
        return json.dumps(self.document(schema), indent=2, ensure_ascii=False)

    def document(self, schema: ParsedSchema) -> Any:
        """Return the canonical form as a JSON value."""
        return json.loads(schema.canonical)

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """Return the properties of a top-level object; none for any other type."""
        return fields(schema.tree)

"""JSON Schema as a :class:`~penstock.schema.format.SchemaFormat`."""

import json
from collections.abc import Sequence
from typing import Any

from penstock.schema.format import Field, ParsedSchema, ReferencedText, fingerprint
from penstock.schema.hive import HiveColumn
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.bundle import bundled
from penstock.schema.jsonschema.canonical import canonical_texts
from penstock.schema.jsonschema.compatibility.compare import incompatibilities
from penstock.schema.jsonschema.document import read_document
from penstock.schema.jsonschema.hive import columns, fields
from penstock.schema.jsonschema.model import JsonSchema
from penstock.schema.rules import CompatibilityRules

__all__ = ["JsonSchemaFormat"]


class JsonSchemaFormat:
    """Drafts 04, 06 and 07 as Glue serves them, and 2019-09 and 2020-12 beside them."""

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
        """Check and canonicalise ``text``; :class:`~penstock.schema.errors.InvalidSchema` says what is wrong where.

        :class:`~penstock.errors.EnvironmentProblem` where the extra ``json`` is not installed.
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
        """Why ``reader`` does not accept documents of ``writer``; empty when it does."""
        return incompatibilities(reader.tree, writer.tree, rules.json)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """The table columns of an object; :class:`~penstock.schema.errors.NoColumns` for other types."""
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        """The definition with all it refers to in it; :class:`~penstock.schema.errors.NotSelfContained`."""
        return bundled(schema.tree.document, schema.text)

    def pretty(self, schema: ParsedSchema) -> str:
        """The canonical form, one member a line."""
        return json.dumps(self.document(schema), indent=2, ensure_ascii=False)

    def document(self, schema: ParsedSchema) -> Any:
        """The canonical form as a JSON value."""
        return json.loads(schema.canonical)

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """The properties of an object at the top; none for any other type."""
        return fields(schema.tree)

"""JSON Schema as a :class:`~penstock.schema.format.SchemaFormat`."""

from collections.abc import Sequence

from penstock.schema.columns import HiveColumn
from penstock.schema.format import Field, ParsedSchema, ReferencedText, SchemaFormat, fingerprint
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.bundle import bundled
from penstock.schema.jsonschema.canonical import canonical_texts
from penstock.schema.jsonschema.columns import columns, fields
from penstock.schema.jsonschema.compatibility.compare import incompatibilities
from penstock.schema.jsonschema.document import read_document
from penstock.schema.jsonschema.model import JsonSchema
from penstock.schema.rules import CompatibilityRules

__all__ = ["JsonSchemaFormat"]


class JsonSchemaFormat(SchemaFormat):
    """Drafts 04, 06 and 07 as in Glue, and also 2019-09 and 2020-12.

    Parsing raises :class:`~penstock.errors.EnvironmentProblem` if the extra ``json`` is not installed.
    """

    name = "JSON"
    ending = ".json"

    def parse(self, text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> ParsedSchema:
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
        return incompatibilities(reader.tree, writer.tree, rules.json)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        return bundled(schema.tree.document, schema.text)

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        return fields(schema.tree)

"""Protobuf as a :class:`~penstock.schema.format.SchemaFormat`."""

import base64
from collections.abc import Sequence
from typing import Any

from penstock.schema.columns import HiveColumn
from penstock.schema.format import Field, ParsedSchema, ReferencedText, SchemaFormat, fingerprint
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.protobuf.columns import columns
from penstock.schema.protobuf.compiler import shipped_files
from penstock.schema.protobuf.merge import merged
from penstock.schema.protobuf.model import ProtoTree, is_required, type_text
from penstock.schema.protobuf.parse import parse_protobuf
from penstock.schema.protobuf.render import Renderer
from penstock.schema.protobuf.resolve import incompatibilities
from penstock.schema.rules import CompatibilityRules

__all__ = ["ProtobufFormat"]


class ProtobufFormat(SchemaFormat):
    """proto2, proto3 and the editions that Google's compiler supports.

    The ``tree`` of a parsed schema is a :class:`~penstock.schema.protobuf.model.ProtoTree`.
    """

    name = "PROTOBUF"
    ending = ".proto"

    def parse(
        self,
        text: str,
        references: Sequence[ReferencedText] = (),
        *,
        legacy: bool = False,  # noqa: ARG002 -- no rule of Protobuf was looser before
    ) -> ParsedSchema:
        """See :class:`SchemaFormat`.

        ``text`` may also be a FileDescriptorProto in base64, as Confluent's clients other than Java's register it. Then the
        parsed schema's text is .proto source. Each reference's name is its import path.
        """
        source, tree = parse_protobuf(text, references)
        renderer = Renderer(tree)
        canonical = renderer.text(tree.file)
        # Google's own files are the same everywhere; all other imports are part of the schema's meaning.
        imported = [f"\n{file.name}\n{renderer.text(file)}" for file in tree.files[:-1] if file.name not in shipped_files()]
        return ParsedSchema(
            data_format=self.name,
            text=source,
            canonical=canonical,
            fingerprint=fingerprint(canonical + "".join(sorted(imported))),
            tree=tree,
        )

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        return incompatibilities(reader.tree, writer.tree, rules.protobuf)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        return merged(schema.tree, schema.text)

    def pretty(self, schema: ParsedSchema) -> str:
        return schema.canonical  # one statement per line

    def document(self, schema: ParsedSchema) -> Any:
        # Lines of text: Protobuf's JSON of a descriptor would omit custom options.
        return schema.canonical.splitlines()

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        tree: ProtoTree = schema.tree
        first = tree.first_message
        if first is None:
            return ()
        return tuple(
            Field(
                name=field.name,
                type=type_text(field, tree),
                doc=tree.comments.get(f"{first.full_name}.{field.name}"),
                required=is_required(field),
            )
            for field in first.proto.field
        )

    def serialized(self, schema: ParsedSchema) -> str:
        """Return the definition's FileDescriptorProto in base64, as Confluent's API answers ``format=serialized``."""
        tree: ProtoTree = schema.tree
        return base64.b64encode(tree.file.SerializeToString(deterministic=True)).decode()

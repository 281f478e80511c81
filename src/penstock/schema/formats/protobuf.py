"""Protobuf as a :class:`~penstock.schema.format.SchemaFormat`."""

import base64
from collections.abc import Sequence
from typing import Any

from penstock.schema.columns import HiveColumn
from penstock.schema.format import Field, ParsedSchema, ReferencedText, fingerprint
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


class ProtobufFormat:
    """proto2, proto3 and the editions that Google's compiler supports.

    The ``tree`` of a parsed schema is a :class:`~penstock.schema.protobuf.model.ProtoTree`.
    """

    @property
    def name(self) -> str:
        """Glue's DataFormat."""
        return "PROTOBUF"

    @property
    def ending(self) -> str:
        """How names of files with definitions end."""
        return ".proto"

    def parse(
        self,
        text: str,
        references: Sequence[ReferencedText] = (),
        *,
        legacy: bool = False,  # noqa: ARG002 -- no rule of Protobuf was looser before
    ) -> ParsedSchema:
        """Check and canonicalise ``text``. Raise :class:`~penstock.schema.errors.InvalidSchema` with the fault and its path.

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
        """Return why ``reader`` cannot read data of ``writer``; empty if it can."""
        return incompatibilities(reader.tree, writer.tree, rules.protobuf)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """Return the table columns of the first message. Raise :class:`~penstock.schema.errors.NoColumns` if it has none."""
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        """Return the definition and its imports as one file. Raise :class:`~penstock.schema.errors.NotSelfContained`."""
        return merged(schema.tree, schema.text)

    def pretty(self, schema: ParsedSchema) -> str:
        """Return the canonical text, which has one statement per line."""
        return schema.canonical

    def document(self, schema: ParsedSchema) -> Any:
        """Return the lines of the canonical text. Protobuf's JSON of a descriptor would omit custom options."""
        return schema.canonical.splitlines()

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """Return the fields of the first message; none if there is no message."""
        tree: ProtoTree = schema.tree
        first = tree.first_message
        if first is None:
            return ()
        return tuple(
            Field(
                name=item.name,
                type=type_text(item, tree),
                doc=tree.comments.get(f"{first.full_name}.{item.name}"),
                required=is_required(item),
            )
            for item in first.proto.field
        )

    def serialized(self, schema: ParsedSchema) -> str:
        """Return the definition's FileDescriptorProto in base64, as Confluent's API answers ``format=serialized``."""
        tree: ProtoTree = schema.tree
        return base64.b64encode(tree.file.SerializeToString(deterministic=True)).decode()

"""Protobuf as a :class:`~penstock.schema.format.SchemaFormat`."""

import base64
from collections.abc import Sequence
from typing import Any

from penstock.schema.format import Field, ParsedSchema, ReferencedText, fingerprint
from penstock.schema.hive import HiveColumn
from penstock.schema.incompatibility import Incompatibility
from penstock.schema.protobuf.compiler import shipped_files
from penstock.schema.protobuf.hive import columns
from penstock.schema.protobuf.merge import merged
from penstock.schema.protobuf.model import ProtoTree, is_required, type_text
from penstock.schema.protobuf.parse import parse_protobuf
from penstock.schema.protobuf.render import Renderer
from penstock.schema.protobuf.resolve import incompatibilities
from penstock.schema.rules import CompatibilityRules

__all__ = ["ProtobufFormat"]


class ProtobufFormat:
    """proto2, proto3 and the editions that Google's compiler knows.

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
        legacy: bool = False,  # noqa: ARG002 -- there is nothing that was taken once and is no longer
    ) -> ParsedSchema:
        """Check and canonicalise ``text``; :class:`~penstock.schema.errors.InvalidSchema` says what is wrong where.

        ``text`` may also be a FileDescriptorProto in base64, as Confluent's clients that are not Java register it; the
        parsed schema's text is then .proto source. Each reference's name is the path by which it is imported.
        """
        source, tree = parse_protobuf(text, references)
        renderer = Renderer(tree)
        canonical = renderer.text(tree.file)
        # Google's own files are the same everywhere; all else that is imported is a part of what the schema means.
        imported = [f"\n{file.name}\n{renderer.text(file)}" for file in tree.files[:-1] if file.name not in shipped_files()]
        return ParsedSchema(
            data_format=self.name,
            text=source,
            canonical=canonical,
            fingerprint=fingerprint(canonical + "".join(sorted(imported))),
            tree=tree,
        )

    def readable(self, reader: ParsedSchema, writer: ParsedSchema, rules: CompatibilityRules) -> list[Incompatibility]:
        """Why ``reader`` cannot read data of ``writer``; empty when it can."""
        return incompatibilities(reader.tree, writer.tree, rules.protobuf)

    def columns(self, schema: ParsedSchema) -> Sequence[HiveColumn]:
        """The table columns of the first message; :class:`~penstock.schema.errors.NoColumns` where it has none."""
        return columns(schema.tree)

    def standalone(self, schema: ParsedSchema) -> str:
        """The definition with what it imports in one file; :class:`~penstock.schema.errors.NotSelfContained`."""
        return merged(schema.tree, schema.text)

    def pretty(self, schema: ParsedSchema) -> str:
        """The canonical text, which is one statement a line."""
        return schema.canonical

    def document(self, schema: ParsedSchema) -> Any:
        """The lines of the canonical text: Protobuf's JSON of a descriptor would leave custom options out."""
        return schema.canonical.splitlines()

    def fields(self, schema: ParsedSchema) -> Sequence[Field]:
        """The fields of the first message; none where there is no message."""
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
        """The definition's FileDescriptorProto in base64: what Confluent's API answers for ``format=serialized``."""
        tree: ProtoTree = schema.tree
        return base64.b64encode(tree.file.SerializeToString(deterministic=True)).decode()

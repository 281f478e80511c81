"""One text for all spellings of an Avro schema.

Names are written in full, keys in one order, what equals its absence is left out. Unlike the specification's Parsing
Canonical Form, everything that a reader can notice stays: doc, defaults, aliases, order, logicalType and custom properties.
A type of another definition is written where it is first used, so that the text stands on its own.
"""

from collections.abc import Mapping
from typing import Any

from penstock.schema.avro.defaults import normal_default
from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    AvroType,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
    Reference,
    UnionType,
)
from penstock.schema.errors import InvalidSchema
from penstock.schema.json_text import write_json

__all__ = ["canonical_text"]


_MAX_DEPTH = 64  # as of a definition without references: what they nest together has to be readable too


def canonical_text(schema: AvroSchema) -> str:
    """The canonical text, itself a valid definition of the same schema.

    Raises :class:`~penstock.schema.errors.InvalidSchema` where types of other definitions nest it too deep.
    """
    return write_json(_Writer(schema.names).node(schema.root, 0))


class _Writer:
    def __init__(self, names: Mapping[str, NamedType]) -> None:
        self._names = names
        self._written: set[str] = set()

    def node(self, kind: AvroType, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise InvalidSchema(
                f"Types nest more than {_MAX_DEPTH} levels, those of referenced schemas included.",
                remedy="Flatten the schemas, or use a deep type earlier, at a shallower place.",
            )
        if isinstance(kind, Reference):
            kind = self._names[kind.name]
        match kind:
            case PrimitiveType():
                return {"type": kind.name, **kind.props} if kind.props else kind.name
            case UnionType():
                return [self.node(branch, depth + 1) for branch in kind.branches]
            case ArrayType():
                return {"type": "array", "items": self.node(kind.items, depth + 1), **kind.props}
            case MapType():
                return {"type": "map", "values": self.node(kind.values, depth + 1), **kind.props}
            case RecordType() | EnumType() | FixedType():
                if kind.name in self._written:
                    return kind.name
                self._written.add(kind.name)
                return self._named(kind, depth)

    def _named(self, kind: NamedType, depth: int) -> dict[str, Any]:
        common = _common(kind)
        match kind:
            case RecordType():
                return {"type": kind.kind, "fields": [self._field(field, depth) for field in kind.fields], **common}
            case EnumType():
                default = {} if kind.default is None else {"default": kind.default}
                return {"type": "enum", "symbols": list(kind.symbols), **default, **common}
            case FixedType():
                return {"type": "fixed", "size": kind.size, **common}

    def _field(self, field: AvroField, depth: int) -> dict[str, Any]:
        node: dict[str, Any] = {"name": field.name, "type": self.node(field.type, depth + 1), **field.props}
        if field.has_default:
            default = field.default
            node["default"] = None if default is None else normal_default(field.type, default, self._names)
        if field.doc is not None:
            node["doc"] = field.doc
        if field.aliases:
            node["aliases"] = list(field.aliases)
        if field.order != "ascending":
            node["order"] = field.order
        return node


def _common(kind: NamedType) -> dict[str, Any]:
    node: dict[str, Any] = {"name": kind.name, **kind.props}
    if "." not in kind.name:
        # Inside another namespace a bare name would take that one; the empty one has to be said.
        node["namespace"] = ""
    if kind.doc is not None:
        node["doc"] = kind.doc
    if kind.aliases:
        node["aliases"] = list(kind.aliases)
    return node

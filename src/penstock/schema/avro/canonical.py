"""One text for all spellings of an Avro schema.

Names are written in full, keys in one order, what equals its absence is left out. Unlike the specification's Parsing
Canonical Form, everything that a reader can notice stays: doc, defaults, aliases, order, logicalType and custom properties.
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
from penstock.schema.json_text import write_json

__all__ = ["canonical_text"]


def canonical_text(schema: AvroSchema) -> str:
    """The canonical text, itself a valid definition of the same schema."""
    return write_json(_node(schema.root, schema.names))


def _node(kind: AvroType, names: Mapping[str, NamedType]) -> Any:  # noqa: PLR0911
    match kind:
        case Reference():
            return kind.name
        case PrimitiveType():
            return {"type": kind.name, **kind.props} if kind.props else kind.name
        case UnionType():
            return [_node(branch, names) for branch in kind.branches]
        case ArrayType():
            return {"type": "array", "items": _node(kind.items, names), **kind.props}
        case MapType():
            return {"type": "map", "values": _node(kind.values, names), **kind.props}
        case RecordType():
            fields = [_field(field, names) for field in kind.fields]
            return {"type": kind.kind, "fields": fields, **_named(kind)}
        case EnumType():
            default = {} if kind.default is None else {"default": kind.default}
            return {"type": "enum", "symbols": list(kind.symbols), **default, **_named(kind)}
        case FixedType():
            return {"type": "fixed", "size": kind.size, **_named(kind)}


def _named(kind: NamedType) -> dict[str, Any]:
    node: dict[str, Any] = {"name": kind.name, **kind.props}
    if "." not in kind.name:
        # Inside another namespace a bare name would take that one; the empty one has to be said.
        node["namespace"] = ""
    if kind.doc is not None:
        node["doc"] = kind.doc
    if kind.aliases:
        node["aliases"] = list(kind.aliases)
    return node


def _field(field: AvroField, names: Mapping[str, NamedType]) -> dict[str, Any]:
    node: dict[str, Any] = {"name": field.name, "type": _node(field.type, names), **field.props}
    if field.has_default:
        node["default"] = normal_default(field.type, field.default, names)
    if field.doc is not None:
        node["doc"] = field.doc
    if field.aliases:
        node["aliases"] = list(field.aliases)
    if field.order != "ascending":
        node["order"] = field.order
    return node

"""The text of a derived schema, as it is registered."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.schema.avro.canonical import CanonicalFold
from penstock.schema.avro.model import (
    ArrayType,
    AvroField,
    AvroSchema,
    EnumType,
    FixedType,
    MapType,
    NamedType,
    PrimitiveType,
    RecordType,
)
from penstock.schema.json_text import write_json

__all__ = ["definition_text"]

_FIRST = ("type", "name", "namespace", "doc", "aliases", "fields", "symbols", "size", "items", "values")
_FIELD_FIRST = ("name", "type", "default", "doc", "aliases", "order")


def definition_text(schema: AvroSchema) -> str:
    """Return the definition as compact JSON, with keys in the usual order. Equal schemas give equal texts."""
    return json.dumps(_TidyFold(schema).root(), separators=(",", ":"))


class _TidyFold(CanonicalFold):
    """Canonical definitions with their keys in the usual order, and without redundant namespaces."""

    def primitive(self, kind: PrimitiveType) -> Any:
        return _tidy(super().primitive(kind), _FIRST) if kind.props else kind.name

    def array(self, kind: ArrayType, items: Any) -> Any:
        return _tidy(super().array(kind, items), _FIRST)

    def map(self, kind: MapType, values: Any) -> Any:
        return _tidy(super().map(kind, values), _FIRST)

    def record(self, kind: RecordType, fields: Sequence[Any]) -> Any:
        return _tidy(super().record(kind, fields), _FIRST)

    def enum(self, kind: EnumType) -> Any:
        return _tidy(super().enum(kind), _FIRST)

    def fixed(self, kind: FixedType) -> Any:
        return _tidy(super().fixed(kind), _FIRST)

    def field(self, field: AvroField, kind: Any) -> dict[str, Any]:
        return _tidy(super().field(field, kind), _FIELD_FIRST)

    def common(self, kind: NamedType) -> dict[str, Any]:
        node = super().common(kind)
        if "." not in (self.enclosing or ""):
            node.pop("namespace", None)
        return node


def _tidy(node: Mapping[str, Any], first: Sequence[str]) -> dict[str, Any]:
    keys = (*(key for key in first if key in node), *sorted(node.keys() - set(first)))
    # Sorts the keys of defaults and properties too; types are in order already.
    inner = ("type",) if first is _FIELD_FIRST else ("fields", "items", "values")
    return {key: node[key] if key in inner else json.loads(write_json(node[key])) for key in keys}

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

    def primitive(self, avro_type: PrimitiveType) -> Any:
        return _tidy(super().primitive(avro_type), _FIRST) if avro_type.props else avro_type.name

    def array(self, avro_type: ArrayType, items: Any) -> Any:
        return _tidy(super().array(avro_type, items), _FIRST)

    def map(self, avro_type: MapType, values: Any) -> Any:
        return _tidy(super().map(avro_type, values), _FIRST)

    def record(self, avro_type: RecordType, fields: Sequence[Any]) -> Any:
        return _tidy(super().record(avro_type, fields), _FIRST)

    def enum(self, avro_type: EnumType) -> Any:
        return _tidy(super().enum(avro_type), _FIRST)

    def fixed(self, avro_type: FixedType) -> Any:
        return _tidy(super().fixed(avro_type), _FIRST)

    def field(self, field: AvroField, definition: Any) -> dict[str, Any]:
        return _tidy(super().field(field, definition), _FIELD_FIRST)

    def common(self, avro_type: NamedType) -> dict[str, Any]:
        node = super().common(avro_type)
        if "." not in (self.enclosing or ""):
            node.pop("namespace", None)
        return node


def _tidy(node: Mapping[str, Any], first: Sequence[str]) -> dict[str, Any]:
    keys = (*(key for key in first if key in node), *sorted(node.keys() - set(first)))
    # Sorts the keys of defaults and properties too; types are in order already.
    inner = ("type",) if first is _FIELD_FIRST else ("fields", "items", "values")
    return {key: node[key] if key in inner else json.loads(write_json(node[key])) for key in keys}

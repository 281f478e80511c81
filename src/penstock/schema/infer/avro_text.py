"""The text of a derived schema, as it is registered."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.schema.avro.canonical import CanonicalFold
from penstock.schema.avro.model import AvroSchema, NamedType
from penstock.schema.json_text import write_json

__all__ = ["definition_text"]

_TYPE_KEYS = ("type", "name", "namespace", "doc", "aliases", "fields", "symbols", "size", "items", "values")
_FIELD_KEYS = ("name", "type", "default", "doc", "aliases", "order")


def definition_text(schema: AvroSchema) -> str:
    """Return the definition as compact JSON, with keys in the usual order. Equal schemas give equal texts."""
    return json.dumps(_type(_DerivedFold(schema).root()), separators=(",", ":"))


class _DerivedFold(CanonicalFold):
    """Canonical definitions without redundant namespaces."""

    def common(self, avro_type: NamedType) -> dict[str, Any]:
        node = super().common(avro_type)
        if "." not in (self.enclosing or ""):
            node.pop("namespace", None)
        return node


def _type(node: Any) -> Any:
    """Return a type's definition with its keys in the usual order, custom properties last."""
    if isinstance(node, list):
        return [_type(branch) for branch in node]
    if isinstance(node, str):
        return node
    inner = {key: _type(node[key]) for key in ("items", "values") if key in node}
    if "fields" in node:
        inner["fields"] = [_ordered(field, _FIELD_KEYS, {"type": _type(field["type"])}) for field in node["fields"]]
    return _ordered(node, _TYPE_KEYS, inner)


def _ordered(node: Mapping[str, Any], first: Sequence[str], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``node`` with the types in ``inner``; the keys of defaults and properties are sorted, too."""
    keys = (*(key for key in first if key in node), *sorted(node.keys() - set(first)))
    return {key: inner[key] if key in inner else json.loads(write_json(node[key])) for key in keys}

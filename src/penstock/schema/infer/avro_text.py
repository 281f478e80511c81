"""A derived schema as the text that is registered."""

import json
from typing import Any

from penstock.schema.avro.canonical import canonical_text
from penstock.schema.avro.model import AvroSchema

__all__ = ["written"]

_FIRST = ("type", "name", "namespace", "doc", "aliases", "fields", "symbols", "size", "items", "values")
_FIELD_FIRST = ("name", "type", "default", "doc", "aliases", "order")


def written(schema: AvroSchema) -> str:
    """The definition as compact JSON, keys in the order in which people write them; equal schemas give equal texts."""
    return json.dumps(_tidy(json.loads(canonical_text(schema))), separators=(",", ":"))


def _tidy(node: Any, *, namespace: str = "", is_field: bool = False) -> Any:
    """A canonical definition with its keys as people order them, and without namespaces that say nothing."""
    if isinstance(node, list):
        return [_tidy(item, namespace=namespace) for item in node]
    if not isinstance(node, dict):
        return node
    inside = namespace
    if "name" in node and not is_field:
        inside = str(node["name"]).rpartition(".")[0]
    first = _FIELD_FIRST if is_field else _FIRST
    tidied: dict[str, Any] = {}
    for key in (*(name for name in first if name in node), *(name for name in node if name not in first)):
        value = node[key]
        if key == "namespace" and value == namespace == "":
            continue
        if key == "fields":
            value = [_tidy(item, namespace=inside, is_field=True) for item in value]
        elif key in ("type", "items", "values"):
            value = _tidy(value, namespace=inside)
        tidied[key] = value
    return tidied

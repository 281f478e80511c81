"""One canonical text for all spellings of a JSON Schema.

Keys are sorted, numbers have one spelling (``1.0`` is ``1``), lists whose order has no meaning are sorted (``required``,
``enum``, ``type``, the names of a dependency), a list of one type becomes that type, and ``$schema`` is omitted if it names
draft 7, the default. Everything that a reader can notice stays, including annotations (title, description, default,
examples, unknown keywords) and the order of ``allOf``, ``anyOf`` and ``oneOf``, on which a ``$ref`` may depend.
"""

from typing import Any

from penstock.schema.json_text import write_json
from penstock.schema.jsonschema.document import Document, SchemaLocation
from penstock.schema.jsonschema.drafts import DRAFT_07, draft_of
from penstock.schema.jsonschema.fold import Inner, fold_schemas
from penstock.schema.jsonschema.model import normal, value_key

__all__ = ["canonical_texts"]


def canonical_texts(document: Document) -> tuple[str, str]:
    """Return the canonical text, itself a valid definition of the same schema, and the text that identifies the schema.

    The two are equal unless the definition refers to others: their canonical texts are part of its identity.
    """
    canonical = fold_schemas(document, _schema)

    def of(schema: Any) -> Any:
        return canonical[id(schema)] if isinstance(schema, dict) else schema

    text = write_json(of(document.root))
    names = {name: of(schema) for name, schema in document.names.items()}
    return text, write_json({"schema": of(document.root), "references": names}) if names else text


def _schema(location: SchemaLocation, inner: Inner[dict[str, Any]]) -> dict[str, Any]:
    members = {keyword: _member(keyword, value, inner) for keyword, value in location.schema.items()}
    if "$schema" in members:
        draft = draft_of(location.schema, default=DRAFT_07)
        members["$schema"] = draft.uri + "#" if draft.ref_stands_alone else draft.uri
        if draft is DRAFT_07:
            del members["$schema"]
    return members


def _member(keyword: str, value: Any, inner: Inner[dict[str, Any]]) -> Any:
    own = inner.get((keyword,))
    if own is not None:
        return own
    if isinstance(value, dict):
        inside = {name: schema for name in value if (schema := inner.get((keyword, name))) is not None}
        members = {**value, **inside}
        if keyword in {"dependencies", "dependentRequired"}:
            return {name: _sorted(item) if isinstance(item, list) else item for name, item in members.items()}
        return members if inside else normal(members)
    if isinstance(value, list):
        schemas = [inner.get((keyword, str(index))) for index in range(len(value))]
        if any(schema is not None for schema in schemas):
            return [item if schema is None else schema for item, schema in zip(value, schemas, strict=True)]
        if keyword in {"required", "enum", "type"}:
            ordered = _sorted(value)
            return ordered[0] if keyword == "type" and len(ordered) == 1 else ordered
    return normal(value)


def _sorted(values: list[Any]) -> list[Any]:
    """Return the values sorted, each once."""
    return [normal(item) for _, item in sorted({value_key(item): item for item in values}.items())]

"""One text for all spellings of a JSON Schema.

Keys are sorted, numbers are written one way (``1.0`` is ``1``), lists whose order means nothing are sorted (``required``,
``enum``, ``type``, the names of a dependency), a list of one type is that type, and ``$schema`` is left out where it names
draft 7, which is what its absence means. All that a reader can notice stays, annotations (title, description, default,
examples, unknown keywords) included. The order of ``allOf``, ``anyOf`` and ``oneOf`` stays too: a ``$ref`` may count on it.
"""

from typing import Any

from penstock.schema.json_text import write_json
from penstock.schema.jsonschema.document import Document, Place
from penstock.schema.jsonschema.drafts import DRAFT_07, draft_of, subschemas
from penstock.schema.jsonschema.model import normal

__all__ = ["canonical_text", "canonical_with_references"]


def canonical_text(document: Document) -> str:
    """The canonical text of the definition itself, a valid definition of the same schema."""
    return write_json(_canonical(document, document.root))


def canonical_with_references(document: Document) -> str:
    """The canonical text with those of all referenced definitions by name, which together identify a schema."""
    names = {name: _canonical(document, schema) for name, schema in document.names.items()}
    root = _canonical(document, document.root)
    return write_json({"schema": root, "references": names} if names else root)


def _canonical(document: Document, root: Any) -> Any:
    """Children come before the schemas that hold them: they were entered behind them."""
    done: dict[int, Any] = {}
    for place in reversed(list(document.places.values())):
        done[id(place.schema)] = _schema(place, done)
    return done[id(root)] if isinstance(root, dict) else root


def _schema(place: Place, done: dict[int, Any]) -> dict[str, Any]:
    inner: dict[str, dict[str, Any]] = {}
    for tokens, item in subschemas(place.schema, place.draft):
        if isinstance(item, dict) and id(item) in done:
            inner.setdefault(tokens[0], {})["/".join(tokens[1:])] = done[id(item)]
    said = {keyword: _member(keyword, value, inner.get(keyword, {})) for keyword, value in place.schema.items()}
    if "$schema" in said:
        draft = draft_of(place.schema, default=DRAFT_07)
        said["$schema"] = draft.uri + "#" if draft.ref_stands_alone else draft.uri
        if draft is DRAFT_07:
            del said["$schema"]
    return said


def _member(keyword: str, value: Any, inner: dict[str, Any]) -> Any:
    if "" in inner:
        return inner[""]
    if isinstance(value, dict):
        members = {name: inner.get(name, item) for name, item in value.items()}
        if keyword in {"dependencies", "dependentRequired"}:
            return {name: _sorted(item) if isinstance(item, list) else item for name, item in members.items()}
        return members if inner else normal(members)
    if isinstance(value, list) and inner:
        return [inner.get(str(index), item) for index, item in enumerate(value)]
    if isinstance(value, list) and keyword in {"required", "enum", "type"}:
        ordered = _sorted(value)
        return ordered[0] if keyword == "type" and len(ordered) == 1 else ordered
    return normal(value)


def _sorted(values: list[Any]) -> list[Any]:
    """The values in one order, each once."""
    return [item for _, item in sorted({write_json(normal(item)): normal(item) for item in values}.items())]

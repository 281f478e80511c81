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
from penstock.schema.jsonschema.model import normal, value_key

__all__ = ["canonical_texts"]


def canonical_texts(document: Document) -> tuple[str, str]:
    """The canonical text, itself a valid definition of the same schema, and what identifies it.

    The two are one text unless the definition builds on others, whose canonical texts then belong to its identity.
    """
    done = _canonical(document)

    def of(schema: Any) -> Any:
        return done[id(schema)] if isinstance(schema, dict) else schema

    text = write_json(of(document.root))
    names = {name: of(schema) for name, schema in document.names.items()}
    return text, write_json({"schema": of(document.root), "references": names}) if names else text


def _canonical(document: Document) -> dict[int, Any]:
    """The canonical form of every schema by its ``id``: children first, which were entered behind what holds them."""
    done: dict[int, Any] = {}
    for place in reversed(list(document.places.values())):
        done[id(place.schema)] = _schema(place, done)
    return done


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
    return [normal(item) for _, item in sorted({value_key(item): item for item in values}.items())]

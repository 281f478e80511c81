"""The schemas of two documents that are identical except for annotations, including all that they refer to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from penstock.schema.json_text import write_json
from penstock.schema.jsonschema.document import Document, SchemaLocation
from penstock.schema.jsonschema.drafts import subschemas
from penstock.schema.jsonschema.fold import Inner, fold_schemas
from penstock.schema.jsonschema.model import Node, normal

__all__ = ["Identity"]

_ANNOTATIONS = frozenset(
    {"$schema", "$id", "id", "$anchor", "$comment", "title", "description", "default", "examples", "readOnly", "writeOnly"}
    | {"deprecated", "format", "definitions", "$defs", "contentSchema", "contentMediaType", "contentEncoding"}
)
_UNORDERED = frozenset({"required", "enum", "type"})


@dataclass(slots=True, eq=False)
class Identity:
    """Marks of schemas. Two schemas with equal marks are equal, unless they refer to different targets under one path."""

    reader: Document
    writer: Document
    unlike: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._find_unlike()

    def same(self, one: Node, other: Node) -> bool:
        """Return whether two schemas certainly accept the same values."""
        if one is other:
            return True
        mark = self.mark(one)
        return mark is not None and mark == self.mark(other)

    def mark(self, node: Node) -> str | None:
        """Return the mark of ``node``, or None if it refers to a target that differs between the documents."""
        if isinstance(node.schema, bool):
            return str(node.schema)
        if id(node.schema) in self.unlike:
            return None
        return _marks(self.reader).get(id(node.schema)) or _marks(self.writer).get(id(node.schema))

    def _find_unlike(self) -> None:
        """Collect the schemas that refer, directly or not, to a target that differs between the documents under one path."""
        targets: dict[str, set[str]] = {}
        for document, target in self._all_targets():
            targets.setdefault(_label(document, target), set()).add(_marks(document).get(id(target), ""))
        differing = [target for document, target in self._all_targets() if len(targets[_label(document, target)]) > 1]
        users: dict[int, list[int]] = {}
        for document in (self.reader, self.writer):
            for location in document.locations.values():
                inner = (item for _, item in subschemas(location.schema, location.draft))
                for used in (*document.targets.get(id(location.schema), ()), *inner):
                    users.setdefault(id(used), []).append(id(location.schema))
        pending = [user for target in differing for user in users.get(id(target), ())]
        while pending:
            user = pending.pop()
            if user not in self.unlike:
                self.unlike.add(user)
                pending.extend(users.get(user, ()))

    def _all_targets(self) -> Iterator[tuple[Document, dict[str, Any]]]:
        for document in (self.reader, self.writer):
            for targets in document.targets.values():
                for target in targets:
                    if isinstance(target, dict):
                        yield document, target


def _marks(document: Document) -> Mapping[int, str]:
    """Return the marks of a document's schemas by their ``id``. They are cached: a definition is compared with many."""
    if not document.marks:
        document.marks = fold_schemas(document, lambda location, inner: _mark(document, location, inner))
    return document.marks


def _mark(document: Document, location: SchemaLocation, inner: Inner[str]) -> str:
    mark: dict[str, Any] = {"$draft": location.draft.year}
    for keyword, value in location.schema.items():
        if keyword not in _ANNOTATIONS:
            mark[keyword] = _said(keyword, value, inner)
    targets = document.targets.get(id(location.schema), ())
    if targets:
        mark["$ref"] = mark["$dynamicRef"] = [_label(document, target) for target in targets]
    return blake2b(write_json(mark).encode(), digest_size=16).hexdigest()


def _said(keyword: str, value: Any, inner: Inner[str]) -> Any:
    if (keyword,) in inner:
        return _marked(inner[keyword,], value)
    if isinstance(value, dict):
        return {
            name: _marked(inner[keyword, name], item) if (keyword, name) in inner else normal(item)
            for name, item in value.items()
        }
    if keyword == "type" and isinstance(value, list) and len(value) == 1:
        return value[0]
    if isinstance(value, list):
        items = [
            _marked(inner[keyword, str(index)], item) if (keyword, str(index)) in inner else normal(item)
            for index, item in enumerate(value)
        ]
        return sorted(items, key=write_json) if keyword in _UNORDERED else items
    return normal(value)


def _marked(mark: str | None, schema: Any) -> dict[str, Any]:
    """Return what represents a schema inside another; a schema without a mark equals only itself."""
    return {"$": id(schema) if mark is None else mark}


def _label(document: Document, target: Any) -> str:
    return document.locations[id(target)].path if isinstance(target, dict) else str(target)

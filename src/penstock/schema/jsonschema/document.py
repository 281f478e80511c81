"""A definition with all it refers to: every schema in it with its draft and base URI, and the target of each ``$ref``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urljoin

from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ReferencedText
from penstock.schema.json_text import read_json
from penstock.schema.jsonschema.drafts import DRAFT_07, Draft, draft_of, subschemas
from penstock.schema.jsonschema.library import check_by_library, check_pattern, check_syntax
from penstock.schema.jsonschema.rewriting import for_library

__all__ = ["BASE", "Document", "SchemaLocation", "escape", "read_document", "validator_of"]

BASE = "http://penstock.invalid/schema.json"
"""The URI of a definition without one. Its top-level domain is reserved and never has a host."""

_REFERENCE_KEYWORDS = ("$ref", "$dynamicRef", "$recursiveRef")
_MAX_PATTERNS = 1_000
_MAX_PATTERN_CHARS = 50_000
_MAX_WAYS = 20_000
_LOOKUP_REMEDY = (
    "Put the schema into this definition, under definitions or $defs, or register it and list it in the references."
)


@dataclass(frozen=True, slots=True, eq=False)
class SchemaLocation:
    """A schema (a mapping) with the base URI of its references, its draft, and its path in its text."""

    schema: dict[str, Any]
    base: str
    draft: Draft
    path: str


@dataclass(slots=True, eq=False)
class Document:
    """A parsed definition. ``root`` is a mapping or a boolean; ``locations`` and ``targets`` are keyed by ``id(schema)``.

    With ``legacy``, pointers may write a slash in a name as ``%2F``, which was once accepted but no validator resolves.
    ``nodes`` and ``marks`` are caches of other modules, with the same keys.
    """

    root: Any
    draft: Draft
    legacy: bool = False
    base: str = BASE
    locations: dict[int, SchemaLocation] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    anchors: dict[str, Any] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    targets: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    nodes: dict[int, object] = field(default_factory=dict)
    marks: dict[int, str] = field(default_factory=dict)

    def add(self, schema: Any, base: str, draft: Draft, path: str) -> None:
        """Add ``schema`` and all schemas in it."""
        top = schema
        pending: list[tuple[Any, str, Draft, str]] = [(schema, base, draft, path)]
        while pending:
            schema, base, draft, path = pending.pop()
            if not isinstance(schema, dict) or id(schema) in self.locations:
                continue
            if schema is top or isinstance(schema.get(draft.id_keyword), str):
                draft = draft_of(schema, default=draft, path=path)
            if not ("$ref" in schema and draft.ref_stands_alone):
                base = self._identify(schema, base, draft)
            self.locations[id(schema)] = SchemaLocation(schema, base, draft, path)
            self._note_patterns(schema, path)
            for tokens, inner in subschemas(schema, draft):
                pending.append((inner, base, draft, path + "".join(f"/{escape(token)}" for token in tokens)))

    def _identify(self, schema: dict[str, Any], base: str, draft: Draft) -> str:
        """Add the URI and the anchors of ``schema``. Return the base URI of the schemas in it."""
        uri = schema.get(draft.id_keyword)
        if isinstance(uri, str):
            target, _, fragment = join(base, uri).partition("#")
            if fragment and draft.year <= 7:
                self.anchors.setdefault(f"{target}#{fragment}", schema)
            if target and not uri.startswith("#"):
                base = target
                self.resources.setdefault(base, schema)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(keyword), str):
                self.anchors.setdefault(f"{base}#{schema[keyword]}", schema)
        return base

    def _note_patterns(self, schema: dict[str, Any], path: str) -> None:
        if isinstance(schema.get("pattern"), str):
            self.patterns.setdefault(schema["pattern"], f"{path}/pattern")
        by_pattern = schema.get("patternProperties")
        for pattern in by_pattern if isinstance(by_pattern, dict) else ():
            self.patterns.setdefault(pattern, f"{path}/patternProperties/{escape(pattern)}")

    def resolve_all(self) -> None:
        """Find the target of every reference, including those in targets that no keyword leads to."""
        resolved = 0
        while resolved < len(self.locations):
            pending = list(self.locations.values())[resolved:]
            resolved += len(pending)
            for location in pending:
                references = tuple(self._resolve(location, keyword) for keyword in _references(location))
                if references:
                    self.targets[id(location.schema)] = references

    def _resolve(self, location: SchemaLocation, keyword: str) -> Any:
        reference = location.schema[keyword]
        path = f"{location.path}/{keyword}"
        uri, _, fragment = join(location.base, reference).partition("#")
        resource = self._resource(uri, reference.partition("#")[0])
        if resource is None:
            raise InvalidSchema(
                f"{keyword} '{reference[:200]}' points outside of the definition, and URLs and files are never looked up.",
                path=path,
                remedy=_LOOKUP_REMEDY,
            )
        if fragment and not fragment.startswith("/"):
            target = self.anchors.get(f"{uri}#{fragment}", self.anchors.get(f"{self._base_of(resource, uri)}#{fragment}"))
        else:
            target = _follow(resource, fragment)
            if target is None and self.legacy:
                target = _follow(resource, fragment, legacy=True)
        if not isinstance(target, (dict, bool)):
            raise InvalidSchema(
                f"{keyword} '{reference[:200]}' does not point to a schema.",
                path=path,
                remedy="Correct the pointer; '#/definitions/NAME' and '#/$defs/NAME' begin at the top of the definition.",
            )
        if isinstance(target, dict) and id(target) not in self.locations:
            inside = self.locations.get(id(resource), location)
            self.add(target, self._base_of(resource, uri), inside.draft, inside.path + fragment)
        return target

    def _base_of(self, resource: Any, uri: str) -> str:
        location = self.locations.get(id(resource))
        return location.base if location else uri

    def _resource(self, uri: str, reference: str) -> Any:
        if uri not in self.resources:
            if reference not in self.names:
                return None
            # Also under this URI, which the library uses for it.
            self.resources[uri] = self.names[reference]
        return self.resources[uri]


def read_document(text: str, references: Sequence[ReferencedText] = (), *, legacy: bool = False) -> Document:
    """Return the parsed definition ``text``. Raise :class:`InvalidSchema` with the fault and its path.

    ``legacy`` accepts what registries once accepted and no longer do.
    """
    root = _read(text)
    draft = draft_of(root, default=DRAFT_07)
    document = Document(root=root, draft=draft, legacy=legacy)
    document.resources[BASE] = root
    document.add(root, BASE, draft, "")
    document.base = document.locations[id(root)].base if isinstance(root, dict) else BASE
    document.resources.setdefault(document.base, root)
    for reference in references:
        other = _read(reference.text, name=reference.name)
        uri = join(document.base, reference.name).partition("#")[0]
        document.names[reference.name] = other
        document.resources[uri] = other
        document.add(other, uri, draft, f"{reference.name}#")
    _check_patterns(document.patterns)
    document.resolve_all()
    _check_patterns(document.patterns)
    for where, schema, its_draft in [*_others(document).values(), ("", document.root, draft)]:
        check_syntax(for_library(schema, exact=False), its_draft, where)
    _check_cycles(document)
    return document


def _read(text: str, name: str | None = None) -> Any:
    value = read_json(text)
    if not isinstance(value, (dict, bool)):
        what = f"The referenced definition '{name[:100]}'" if name else "The definition"
        raise InvalidSchema(f"{what} is {_kind(value)}; a JSON Schema must be an object, true or false.")
    return value


def _kind(value: Any) -> str:
    return {list: "an array", str: "a string", type(None): "null"}.get(type(value), "a number")


def _references(location: SchemaLocation) -> Iterator[str]:
    for keyword in _REFERENCE_KEYWORDS:
        if isinstance(location.schema.get(keyword), str) and (keyword == "$ref" or location.draft.year >= 2019):
            yield keyword


def _check_patterns(patterns: Mapping[str, str]) -> None:
    if len(patterns) > _MAX_PATTERNS or sum(map(len, patterns)) > _MAX_PATTERN_CHARS:
        raise InvalidSchema(
            f"The definition has {len(patterns)} regular expressions of {sum(map(len, patterns))} characters; "
            f"the limits are {_MAX_PATTERNS} and {_MAX_PATTERN_CHARS}.",
            remedy="Use enum instead of patterns for lists of names, or split the schema.",
        )
    for pattern, path in patterns.items():
        check_pattern(pattern, path)


def validator_of(document: Document) -> Any:
    """Return the jsonschema-rs validator of a definition. It looks nothing up, and backtracking of patterns is limited.

    Raise :class:`InvalidSchema` if a pattern is too large to compile, or if too many paths lead to schemas with their own
    URIs.
    """
    _check_ways(document)
    others = {uri: for_library(schema, exact=True) for uri, (_, schema, _) in _others(document).items()}
    return check_by_library(for_library(document.root, exact=True), document.draft, BASE, others)


def _others(document: Document) -> dict[str, tuple[str, Any, Draft]]:
    """Return the referenced definitions by URI: the prefix of their paths, the schema and the draft."""
    others: dict[str, tuple[str, Any, Draft]] = {}
    for uri, schema in document.resources.items():
        location = document.locations.get(id(schema))
        # The library gets those inside another schema with that schema's text.
        if schema is not document.root and (location is None or location.path.endswith("#")):
            others[uri] = (location.path if location else "", schema, location.draft if location else document.draft)
    return others


def _check_ways(document: Document) -> None:
    """Refuse definitions in which the number of paths to schemas doubles with each reference.

    The library makes a validator for each path to a schema with its own URI, unless that schema is open already on the path;
    within one URI it makes each validator once. This function walks in the same way, and counts.
    """
    start = document.locations.get(id(document.root))
    if start is None:
        return
    limit = _MAX_WAYS + len(document.locations)
    remaining = limit
    open_ids = {id(start.schema)}
    stack: list[tuple[Iterator[tuple[SchemaLocation, bool]], set[int], int | None]] = [
        (_leads(document, start), set(), None)
    ]
    while stack:
        following, passed, entered = stack[-1]
        step = next(following, None)
        if step is None:
            stack.pop()
            open_ids.discard(entered or 0)
            continue
        location, anew = step
        key = id(location.schema)
        if key in (open_ids if anew else passed):
            continue
        (open_ids if anew else passed).add(key)
        remaining -= 1
        if remaining < 0:
            raise InvalidSchema(
                f"More than {limit} paths of references lead to schemas with their own $id, and each must be followed.",
                path=location.path,
                remedy="Refer by pointers, as in #/definitions/NAME, instead of by $id, or use fewer references between "
                "definitions.",
            )
        stack.append((_leads(document, location), set() if anew else passed, key if anew else None))


def _leads(document: Document, location: SchemaLocation) -> Iterator[tuple[SchemaLocation, bool]]:
    """Yield the schemas that ``location`` uses, and for each whether it is a referenced schema with another URI."""
    for target in document.targets.get(id(location.schema), ()):
        if isinstance(target, dict):
            other = document.locations[id(target)]
            yield other, other.base != location.base
    for tokens, inner in subschemas(location.schema, location.draft):
        if isinstance(inner, dict) and tokens[0] not in {"definitions", "$defs"}:
            yield document.locations[id(inner)], False


def _check_cycles(document: Document) -> None:
    """Refuse schemas that apply themselves to the same value again: their validation would never end."""
    checked: set[int] = set()
    for start in document.locations.values():
        open_ids: set[int] = set()
        stack: list[tuple[SchemaLocation, Iterator[Any]]] = []
        if id(start.schema) not in checked:
            stack.append((start, _in_place(document, start)))
            open_ids.add(id(start.schema))
        while stack:
            location, following = stack[-1]
            schema = next(following, None)
            if schema is None:
                stack.pop()
                open_ids.discard(id(location.schema))
                checked.add(id(location.schema))
            elif isinstance(schema, dict) and id(schema) in open_ids:
                raise InvalidSchema(
                    "The schema applies itself to the same value again, so validation would never end.",
                    path=location.path or "/",
                    remedy="Use a recursive $ref only inside properties or items.",
                )
            elif isinstance(schema, dict) and id(schema) not in checked:
                inner = document.locations[id(schema)]
                stack.append((inner, _in_place(document, inner)))
                open_ids.add(id(schema))


def _in_place(document: Document, location: SchemaLocation) -> Iterator[Any]:
    """Yield the schemas that ``location`` applies to the same value."""
    yield from document.targets.get(id(location.schema), ())
    if "$ref" in location.schema and location.draft.ref_stands_alone:
        return
    for tokens, schema in subschemas(location.schema, location.draft):
        if tokens[0] in {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas"}:
            yield schema


def join(base: str, reference: str) -> str:
    """Return ``reference`` resolved against ``base``; urljoin does not support URNs."""
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference) if reference else base
    except ValueError as error:
        raise InvalidSchema(f"'{reference[:200]}' is not a URI: {error}.") from None


def escape(token: str) -> str:
    """Return ``token`` as a step of a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1")


def _follow(schema: Any, pointer: str, *, legacy: bool = False) -> Any:
    """Return the target of the JSON pointer in a URI's fragment, or None (RFC 6901 section 6: first decode, then split)."""
    for step in map(unquote, pointer.split("/")[1:]) if legacy else unquote(pointer).split("/")[1:]:
        token = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and token in schema:
            schema = schema[token]
        elif isinstance(schema, list) and re.fullmatch("[0-9]{1,9}", token) and int(token) < len(schema):
            schema = schema[int(token)]
        else:
            return None
    return schema

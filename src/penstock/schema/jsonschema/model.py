"""The model of a JSON Schema for comparison: the same for the spellings of all drafts, with references followed lazily."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from json.encoder import encode_basestring_ascii
from typing import Any, TypeVar, cast

from penstock.schema.json_text import write_json
from penstock.schema.jsonschema.document import Document, SchemaLocation, escape
from penstock.schema.jsonschema.drafts import since

__all__ = [
    "ALL_TYPES",
    "FALSE",
    "TRUE",
    "Bound",
    "JsonSchema",
    "Node",
    "constant",
    "describe_types",
    "negation",
    "normal",
    "of_types",
    "presence",
    "step",
    "type_names",
    "types_of_value",
    "value_key",
]

ALL_TYPES = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
"""The disjoint types of values: ``number`` is integer and fraction."""

_T = TypeVar("_T")
_MAX_CONSTANT_DEPTH = 20
_ABOUT = {
    "object": {"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties"},
    "array": {"items", "additionalItems", "minItems", "maxItems", "uniqueItems", "prefixItems"},
    "string": {"minLength", "maxLength", "pattern"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
_NOTHING: dict[str, Any] = {}
_CONDITIONAL = frozenset({"anyOf", "oneOf", "if", "dependentSchemas", "dependencies", "not", "$dynamicRef", "$recursiveRef"})
_KINDS = {name: frozenset({name}) for name in ALL_TYPES} | {"number": frozenset({"integer", "fraction"})}


@dataclass(frozen=True, slots=True)
class Bound:
    """A minimum or maximum; with ``strict`` the number itself is excluded. ``keyword`` is where it comes from."""

    value: Fraction
    strict: bool
    keyword: str


@dataclass(eq=False, kw_only=True)
class Node:
    """One schema. Children are nodes. Nodes are equal only if identical, and a document's schema has exactly one node.

    ``values`` is None if they are not restricted to a list. ``raw`` is the schema, or empty if its keywords have no effect;
    nodes of the schemas in it are made lazily. ``synthetic_...`` are the inner schemas of nodes that are in no document.
    """

    schema: Any
    document: Document | None = None
    location: SchemaLocation | None = None
    types: frozenset[str] = ALL_TYPES
    values: tuple[Any, ...] | None = None
    lower: Bound | None = None
    upper: Bound | None = None
    multiples: tuple[Fraction, ...] = ()
    min_length: int = 0
    max_length: int | None = None
    pattern: str | None = None
    required: tuple[str, ...] = ()
    min_properties: int = 0
    max_properties: int | None = None
    min_items: int = 0
    max_items: int | None = None
    unique: bool = False
    raw: dict[str, Any] = field(default_factory=dict)
    prefix_keyword: str = "prefixItems"
    rest_keyword: str = "items"
    synthetic_children: "dict[str, Node]" = field(default_factory=dict)
    synthetic_properties: "dict[str, Node]" = field(default_factory=dict)
    synthetic_patterns: "dict[str, Node]" = field(default_factory=dict)
    synthetic_prefix: "tuple[Node, ...]" = ()
    _children: dict[str, Any] = field(default_factory=dict)

    def child(self, keyword: str) -> "Node | None":
        """Return the schema under ``keyword``."""
        if keyword not in self.raw:
            return self.synthetic_children.get(keyword)
        return self._cached(keyword, lambda: self._wrap(self._said(keyword)) if _is_schema(self._said(keyword)) else None)

    def by_name(self, keyword: str) -> "dict[str, Node]":
        """Return the schemas by name under ``keyword``; other values are omitted."""
        if keyword not in self.raw:
            return _NOTHING
        return self._cached(
            f"{keyword} named",
            lambda: {name: self._wrap(item) for name, item in _mapping(self._said(keyword)).items() if _is_schema(item)},
        )

    def several(self, keyword: str) -> "tuple[Node, ...]":
        """Return the list of schemas under ``keyword``."""
        if keyword not in self.raw:
            return ()
        return self._cached(
            f"{keyword} several",
            lambda: tuple(map(self._wrap, self._said(keyword))) if isinstance(self._said(keyword), list) else (),
        )

    @cached_property
    def value_keys(self) -> frozenset[str]:
        """The keys of ``values``."""
        return frozenset(map(value_key, self.values or ()))

    def branches_by_value(self, keyword: str) -> dict[str, list[int]]:
        """Return the indexes of the alternatives by the key of each value they list; those without a list under ``""``."""
        return self._cached(f"{keyword} by value", lambda: self._index(self.several(keyword)))

    @cached_property
    def limits_scalars(self) -> bool:
        """Whether the schema limits numbers or strings."""
        bounds = (self.lower, self.upper, self.pattern, self.max_length)
        return bool(self.multiples or self.min_length) or any(bound is not None for bound in bounds)

    @cached_property
    def implied_types(self) -> frozenset[str]:
        """``types``, or, if the schema has no ``type``, the only type that its keywords are about."""
        about = {json_type for keyword in self.raw for json_type, keywords in _ABOUT.items() if keyword in keywords}
        if len(about) != 1 or self.types != ALL_TYPES or self.applicators:
            return self.types
        return _KINDS[about.pop()]

    @cached_property
    def properties(self) -> "dict[str, Node]":
        """The listed properties by name."""
        return self.synthetic_properties or self.by_name("properties")

    @cached_property
    def patterns(self) -> "dict[str, Node]":
        """The schemas of properties by a pattern of their names."""
        return self.synthetic_patterns or self.by_name("patternProperties")

    @cached_property
    def additional(self) -> "Node":
        """The schema of the properties that are neither listed nor matched."""
        return self.child("additionalProperties") or self._unevaluated("unevaluatedProperties")

    @cached_property
    def prefix(self) -> "tuple[Node, ...]":
        """The schemas of the first items."""
        return self.synthetic_prefix or self.several(self.prefix_keyword)

    @cached_property
    def rest(self) -> "Node":
        """The schema of the items after the listed ones."""
        return self.child(self.rest_keyword) or self._unevaluated("unevaluatedItems")

    @property
    def has_additional_items(self) -> bool:
        """Whether the schema has ``additionalItems`` and its draft, too; they limit arrays behind a list of items alone."""
        return "additionalItems" in self.raw and self.location is not None and self.location.draft.year < 2020

    @cached_property
    def dependent_required(self) -> dict[str, tuple[str, ...]]:
        """Names that are required if another is present."""
        both = {**_mapping(self._said("dependencies")), **_mapping(self._said("dependentRequired"))}
        return {name: tuple(item) for name, item in both.items() if isinstance(item, list)}

    @cached_property
    def dependent_schemas(self) -> "dict[str, tuple[str, Node]]":
        """Schemas that apply if a name is present, with the keyword that contains them."""
        return {
            name: (keyword, node)
            for keyword in ("dependencies", "dependentSchemas")
            for name, node in self.by_name(keyword).items()
        }

    @cached_property
    def in_place(self) -> "tuple[tuple[str, Node], ...]":
        """The schemas that apply to the same value, with the step that leads to each."""
        targets = () if self.document is None else self.document.targets.get(id(self.schema), ())
        listed = ((f"/allOf/{index}", node) for index, node in enumerate(self.several("allOf")))
        inside = (*(("", self._wrap(target)) for target in targets), *listed)
        rest = self._rest_of(inside)
        return inside if rest is None else (*inside, ("", rest))

    @cached_property
    def applicators(self) -> bool:
        """Whether other schemas may evaluate properties and items of the same value."""
        keywords = ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "contains")
        return any(keyword in self.raw for keyword in keywords)

    def _said(self, keyword: str) -> Any:
        """Return the value of ``keyword``, None where the schema's draft does not have it."""
        return self.raw.get(keyword) if self.location is not None and self.location.draft.year >= since(keyword) else None

    def _rest_of(self, inside: "tuple[tuple[str, Node], ...]") -> "Node | None":
        """Return ``unevaluatedProperties`` beside unconditional schemas as a separate schema; what they list counts."""
        rest = self.child("unevaluatedProperties")
        if rest is None or not self.applicators:
            return None
        listed: dict[str, Node] = {}
        patterns: dict[str, Node] = {}
        pending, seen = [self, *(node for _, node in inside)], set()
        while pending:
            node = pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.raw.keys() & _CONDITIONAL or (node is not self and "unevaluatedProperties" in node.raw):
                return None
            if "additionalProperties" in node.raw:
                return TRUE
            listed |= dict.fromkeys(node.properties, TRUE)
            patterns |= dict.fromkeys(node.patterns, TRUE)
            if node is not self:
                pending.extend(inner for _, inner in node.in_place)
        return Node(
            schema={"unevaluatedProperties": rest.schema},
            synthetic_children={"additionalProperties": rest},
            synthetic_properties=listed,
            synthetic_patterns=patterns,
        )

    @property
    def unevaluated_is_plain(self) -> bool:
        """Whether :attr:`in_place` covers ``unevaluatedProperties`` completely."""
        return any(node.location is None for _, node in self.in_place)

    def _unevaluated(self, keyword: str) -> "Node":
        return (None if self.applicators else self.child(keyword)) or TRUE

    def _wrap(self, schema: Any) -> "Node":
        if isinstance(schema, bool):
            return TRUE if schema else FALSE
        assert self.document is not None
        return _node(self.document, schema)

    @staticmethod
    def _index(branches: "tuple[Node, ...]") -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for index, branch in enumerate(branches):
            for key in [""] if branch.values is None else branch.value_keys:
                positions.setdefault(key, []).append(index)
        return positions

    def _cached(self, key: str, make: Callable[[], _T]) -> _T:
        if key not in self._children:
            # Atomic, since threads share parsed schemas and a schema must have exactly one node.
            self._children.setdefault(key, make())
        return cast(_T, self._children[key])


TRUE = Node(schema=True)
FALSE = Node(schema=False, types=frozenset())


@dataclass(slots=True, eq=False)
class JsonSchema:
    """The tree of a parsed definition."""

    document: Document

    @property
    def root(self) -> Node:
        """The definition itself."""
        root = self.document.root
        if isinstance(root, bool):
            return TRUE if root else FALSE
        return _node(self.document, root)


def _node(document: Document, schema: dict[str, Any]) -> Node:
    node = document.nodes.get(id(schema))
    if node is None:
        node = document.nodes.setdefault(id(schema), _read(document, schema))
    assert isinstance(node, Node)
    return node


def _read(document: Document, schema: dict[str, Any]) -> Node:
    location = document.locations[id(schema)]
    if "$ref" in schema and location.draft.ref_stands_alone:
        return Node(schema=schema, document=document, location=location)
    types = _types(schema.get("type"))
    values = _values(schema, location)
    if values is not None:
        values = tuple(value for value in values if types_of_value(value) <= types)
        types = frozenset().union(*map(types_of_value, values))
    listed = location.draft.year < 2020 and isinstance(schema.get("items"), list)
    old_tuple = location.draft.year < 2020
    return Node(
        schema=schema,
        document=document,
        location=location,
        types=types,
        values=values,
        lower=_bound(schema, location, "minimum", "exclusiveMinimum", greater=True),
        upper=_bound(schema, location, "maximum", "exclusiveMaximum", greater=False),
        multiples=(_fraction(schema["multipleOf"]),) if "multipleOf" in schema else (),
        min_length=int(schema.get("minLength", 0)),
        max_length=_whole(schema.get("maxLength")),
        pattern=schema.get("pattern"),
        required=tuple(sorted(set(schema.get("required", ())))),
        min_properties=int(schema.get("minProperties", 0)),
        max_properties=_whole(schema.get("maxProperties")),
        min_items=int(schema.get("minItems", 0)),
        max_items=_whole(schema.get("maxItems")),
        unique=schema.get("uniqueItems", False),
        raw=schema,
        prefix_keyword="items" if old_tuple else "prefixItems",
        rest_keyword="additionalItems" if listed else "items",
    )


def constant(value: Any, depth: int = 0) -> Node:
    """Return a schema that accepts only ``value``, with all keywords that this implies."""
    node = Node(schema={"const": value}, types=types_of_value(value), values=(value,))
    if isinstance(value, dict) and depth < _MAX_CONSTANT_DEPTH:
        node.required = tuple(sorted(value))
        node.max_properties = len(value)
        inner = {name: constant(item, depth + 1) for name, item in value.items()}
        node.synthetic_properties, node.synthetic_children = inner, {"additionalProperties": FALSE}
    elif isinstance(value, list) and depth < _MAX_CONSTANT_DEPTH:
        node.min_items = node.max_items = len(value)
        node.unique = len({value_key(item) for item in value}) == len(value)
        node.synthetic_prefix, node.synthetic_children = tuple(constant(item, depth + 1) for item in value), {"items": FALSE}
    return node


def negation(node: Node) -> Node:
    """Return a schema that accepts what ``node`` does not."""
    return Node(schema={"not": node.schema}, synthetic_children={"not": node})


def of_types(types: frozenset[str]) -> Node:
    """Return a schema that accepts all values of ``types``."""
    return Node(schema={"type": sorted(types)}, types=types)


def presence(name: str) -> Node:
    """Return a schema that requires the property ``name`` of an object."""
    return Node(schema={"required": [name]}, types=frozenset({"object"}), required=(name,))


def types_of_value(value: Any) -> frozenset[str]:
    """Return the kind of one JSON value."""
    if isinstance(value, float):
        return _KINDS["integer" if value.is_integer() else "fraction"]
    names = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    return _KINDS[names[type(value)]]


def type_names(types: frozenset[str]) -> str:
    """Return ``types`` in human-readable form."""
    names = set(types)
    if {"integer", "fraction"} <= names:
        names = names - {"integer", "fraction"} | {"number"}
    return " or ".join(sorted(names)) if names else "nothing"


def describe_types(node: Node) -> str:
    """Return the types of a schema in human-readable form."""
    return type_names(node.types) if node.types != TRUE.types else "a schema of its own"


def value_key(value: Any) -> str:
    """Return the same text for equal JSON values: 1.0 is 1."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return write_json(normal(value))


def normal(value: Any) -> Any:
    """Return ``value`` with each number in its canonical spelling."""
    if isinstance(value, (str, int)) or value is None:
        return value
    return json.loads(json.dumps(value), parse_float=_number)


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def step(keyword: str, name: str) -> str:
    """Return the part of a path that leads to ``name`` under ``keyword``."""
    return f"/{keyword}/{escape(name)}"


def _types(value: Any) -> frozenset[str]:
    if value is None:
        return ALL_TYPES
    return frozenset().union(*(_KINDS[name] for name in (value if isinstance(value, list) else [value])))


def _values(schema: dict[str, Any], location: SchemaLocation) -> tuple[Any, ...] | None:
    listed = schema.get("enum")
    if "const" in schema and location.draft.year >= 6:
        key = value_key(schema["const"])
        return (schema["const"],) if listed is None or key in map(value_key, listed) else ()
    return None if listed is None else tuple({value_key(item): item for item in listed}.values())


def _bound(schema: dict[str, Any], location: SchemaLocation, keyword: str, exclusive: str, *, greater: bool) -> Bound | None:
    bounds = []
    if keyword in schema:
        strict = location.draft.year == 4 and schema.get(exclusive) is True
        bounds.append(Bound(_fraction(schema[keyword]), strict, exclusive if strict else keyword))
    if exclusive in schema and location.draft.year > 4:
        bounds.append(Bound(_fraction(schema[exclusive]), True, exclusive))
    return max(bounds, key=lambda item: (item.value if greater else -item.value, item.strict), default=None)


def _fraction(value: Any) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, (dict, bool))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}

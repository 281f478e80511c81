"""The known facts of a value that several schemas accept at once: the writer's side of every rule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import Any

from penstock.schema.jsonschema.document import Document
from penstock.schema.jsonschema.library import matches
from penstock.schema.jsonschema.model import FALSE, TRUE, Bound, Node, type_names, types_of_value, value_key

__all__ = ["Choice", "Facts", "effective", "gather", "value_obeys"]


_MAX_LOOKED_UP = 5_000
_MAX_ROUNDS = 20
_MAX_OBEYED = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Alternatives of which a value must match one; exactly one if ``exclusive`` (oneOf)."""

    keyword: str
    branches: tuple[Node, ...]
    exclusive: bool


@dataclass(eq=False, kw_only=True)
class Facts:
    """The combined constraints of ``nodes``. ``empty`` is true if they obviously accept no value.

    ``implied`` are the types that a reader's ``type`` must accept. They are fewer than ``types`` if the rules let the
    keywords of a schema without ``type`` imply one. All other requirements of a reader are compared with ``types``.
    """

    nodes: tuple[Node, ...]
    types: frozenset[str]
    implied: frozenset[str]
    values: tuple[Any, ...] | None
    lower: Bound | None
    upper: Bound | None
    multiples: tuple[Fraction, ...]
    min_length: int
    max_length: int | None
    patterns: frozenset[str]
    required: frozenset[str]
    min_properties: int
    max_properties: int | None
    min_items: int
    max_items: int | None
    unique: bool
    choices: tuple[Choice, ...] = ()
    negated: tuple[Node, ...] = ()
    conditional: tuple[Node, ...] = ()
    empty: bool = False
    _effective: dict[str, tuple[Node, ...]] = field(default_factory=dict)

    def property(self, name: str) -> tuple[Node, ...]:
        """Return the schemas for the property ``name``; only FALSE if it is not allowed, none if any value is."""
        effective_node = self._effective.get(name)
        if effective_node is None:
            asking = (*self.listing.get(name, ()), *(part for part in self.loose if name not in part.properties))
            effective_node = self._effective[name] = _conjunction(
                node for part in asking for node in effective(part, name) or ()
            )
        return effective_node

    @cached_property
    def listing(self) -> dict[str, list[Node]]:
        """The schemas that list a property, by its name."""
        listing: dict[str, list[Node]] = {}
        for part in self.nodes:
            for name in part.properties:
                listing.setdefault(name, []).append(part)
        return listing

    @cached_property
    def loose(self) -> tuple[Node, ...]:
        """The schemas that constrain properties that they do not list."""
        return tuple(part for part in self.nodes if part.patterns or part.additional is not TRUE)

    def item(self, index: int) -> tuple[Node, ...]:
        """Return the schemas for the item at ``index``."""
        return _conjunction(part.prefix[index] if index < len(part.prefix) else part.rest for part in self.nodes)

    def rest(self) -> tuple[Node, ...]:
        """Return the schemas for the items after those that any schema lists."""
        return _conjunction(part.rest for part in self.nodes)

    def within(self, types: frozenset[str]) -> "Facts":
        """Return these facts restricted to the reader's ``types``, if the rules ignore values of other types."""
        return self if self.types <= types or self.implied == self.types else replace(self, types=self.types & types)

    def describe(self) -> str:
        """Return the types in human-readable form."""
        if self.values is not None and len(self.values) <= 5:
            return " or ".join(value_key(value)[:60] for value in self.values) or "nothing"
        return "any value" if self.types >= TRUE.types else type_names(self.types)


def gather(nodes: Sequence[Node], constants: "dict[str, Node]", make: Any, *, implied: Document | None = None) -> Facts:
    """Return the facts of ``nodes`` and of all schemas that apply to the same value. ``constants`` caches constants' nodes.

    ``implied`` is the document whose keywords imply the type that they are about.
    """
    parts = _spread(nodes, constants, make)
    types = frozenset.intersection(TRUE.types, *(part.types for part in parts))
    if any(multiple.denominator == 1 for part in parts for multiple in part.multiples if not _counts_spelling(part)):
        types = types - {"fraction"}
    facts = Facts(
        nodes=tuple(parts),
        types=types,
        implied=types,
        values=_values(parts),
        lower=max((p.lower for p in parts if p.lower), key=lambda b: (b.value, b.strict), default=None),
        upper=min((p.upper for p in parts if p.upper), key=lambda b: (b.value, not b.strict), default=None),
        multiples=tuple(dict.fromkeys(m for part in parts for m in part.multiples)),
        min_length=max((part.min_length for part in parts), default=0),
        max_length=_least(part.max_length for part in parts),
        patterns=frozenset(part.pattern for part in parts if part.pattern is not None),
        required=_required(parts),
        min_properties=max((part.min_properties for part in parts), default=0),
        max_properties=_least(part.max_properties for part in parts),
        min_items=max((part.min_items for part in parts), default=0),
        max_items=_least(part.max_items for part in parts),
        unique=any(part.unique for part in parts),
        choices=_choices(parts),
        negated=tuple(node for part in parts if (node := part.child("not")) is not None),
        conditional=tuple(part for part in parts if part.child("if") is not None),
    )
    _tighten(facts)
    facts.implied = facts.types if implied is None else _implied(parts, facts.types, implied)
    return facts


def _implied(parts: Sequence[Node], types: frozenset[str], document: Document) -> frozenset[str]:
    """Return ``types`` without those that the keywords of a schema without ``type`` are not about.

    An alternative or a case of ``if`` implies no type, since the other alternatives may accept other types.
    """
    node_ids = {id(part) for part in parts}
    choices = (part.several(keyword) for part in parts for keyword in ("anyOf", "oneOf"))
    pending = [branch for branches in choices if len(branches) > 1 for branch in branches if id(branch) in node_ids]
    cases = (part.child(keyword) for part in parts for keyword in ("if", "then", "else"))
    pending.extend(case for case in cases if case is not None and id(case) in node_ids)
    chosen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) not in chosen:
            chosen.add(id(node))
            pending.extend(inner for _, inner in node.in_place)
    saying = (part for part in parts if part.document is document and id(part) not in chosen)
    return frozenset.intersection(types, *(part.implied_types for part in saying)) or types


def effective(part: Node, name: str) -> tuple[Node, ...] | None:
    """Return the schemas of ``part`` alone for the property ``name``, or None if a pattern is undecidable."""
    schemas = [part.properties[name]] if name in part.properties else []
    undecided = False
    for pattern, node in part.patterns.items():
        match matches(pattern, name):
            case True:
                schemas.append(node)
            case None:
                undecided = True
    if schemas or not undecided:
        return tuple(schemas) or (part.additional,)
    return None


def value_obeys(value: Any, part: Node) -> bool | None:
    """Return whether ``value`` obeys the number and string keywords of ``part``, or None if a pattern is undecidable."""
    if isinstance(value, str):
        if len(value) < part.min_length or (part.max_length is not None and len(value) > part.max_length):
            return False
        return part.pattern is None or matches(part.pattern, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = Fraction(value) if isinstance(value, int) else Fraction(repr(value))
        if part.lower and (number < part.lower.value or (part.lower.strict and number == part.lower.value)):
            return False
        if part.upper and (number > part.upper.value or (part.upper.strict and number == part.upper.value)):
            return False
        return all(number % multiple == 0 for multiple in part.multiples if multiple)
    return True


def _spread(nodes: Sequence[Node], constants: "dict[str, Node]", make: Any) -> list[Node]:
    """Return ``nodes`` and all schemas that apply to the same value, each once."""
    by_id: dict[int, Node] = {}
    pending = list(reversed(nodes))
    dependent: list[Node] = []
    types, rounds = TRUE.types, 0
    while pending:
        node = pending.pop()
        if id(node) in by_id or node is TRUE:
            continue
        types &= node.types
        by_id[id(node)] = node
        pending.extend(inner for _, inner in reversed(node.in_place))
        if node.values is not None and len(node.values) == 1 and node.location is not None:
            key = value_key(node.values[0])
            if key not in constants:
                constants[key] = make(node.values[0])
            pending.append(constants[key])
        if node.dependent_schemas:
            dependent.append(node)
        if not pending and dependent and rounds < _MAX_ROUNDS and types <= {"object"}:
            rounds += 1
            required = _required(by_id.values())
            schemas = [
                inner for part in dependent for name, (_, inner) in part.dependent_schemas.items() if name in required
            ]
            pending = [inner for inner in schemas if id(inner) not in by_id]
    return list(by_id.values())


def _required(parts: Iterable[Node]) -> frozenset[str]:
    """Return the required names, including those that other required names depend on."""
    required: set[str] = set()
    brings: dict[str, list[str]] = {}
    pending: list[str] = []
    for part in parts:
        pending.extend(part.required)
        for name, names in part.dependent_required.items():
            brings.setdefault(name, []).extend(names)
    while pending:
        name = pending.pop()
        if name not in required:
            required.add(name)
            pending.extend(brings.get(name, ()))
    return frozenset(required)


def _values(parts: Sequence[Node]) -> tuple[Any, ...] | None:
    lists = [part.values for part in parts if part.values is not None]
    if not lists:
        return None
    common = {value_key(value): value for value in lists[0]}
    for other in lists[1:]:
        keys = {value_key(value) for value in other}
        common = {key: value for key, value in common.items() if key in keys}
    return tuple(common.values())


def _choices(parts: Sequence[Node]) -> tuple[Choice, ...]:
    """Return the alternatives that are still open, because none of their branches applies already."""
    node_ids = {id(part) for part in parts}
    choices = []
    for part in parts:
        for keyword in ("anyOf", "oneOf"):
            branches = part.several(keyword)
            if branches and not any(id(branch) in node_ids for branch in branches):
                choices.append(Choice(keyword, branches, keyword == "oneOf"))
    return tuple(choices)


def _tighten(facts: Facts) -> None:
    """Derive further facts: types from choices, values from types, bounds of whole numbers, contradictions."""
    for choice in facts.choices:
        facts.types &= frozenset().union(*(branch.types for branch in choice.branches))
    if facts.values is None and facts.types <= {"null", "boolean"}:
        facts.values = tuple(value for value in (None, True, False) if types_of_value(value) <= facts.types)
    if facts.values is not None:
        limiting = [part for part in facts.nodes if part.limits_scalars]
        limiting = limiting if len(limiting) * len(facts.values) <= _MAX_OBEYED else []
        facts.values = tuple(
            value
            for value in facts.values
            if types_of_value(value) <= facts.types and all(value_obeys(value, part) is not False for part in limiting)
        )
        facts.types = frozenset().union(*map(types_of_value, facts.values))
    if "fraction" not in facts.types and "integer" in facts.types:
        facts.lower = facts.lower and _whole_bound(facts.lower, up=True)
        facts.upper = facts.upper and _whole_bound(facts.upper, up=False)
        facts.multiples = (*facts.multiples, Fraction(1))
    facts.types = facts.types - _impossible(facts)
    facts.empty = not facts.types or any(part is FALSE for part in facts.nodes)


def _impossible(facts: Facts) -> frozenset[str]:
    """Return the types that have no value within the bounds."""
    impossible: set[str] = set()
    if facts.lower and facts.upper:
        low, high = facts.lower, facts.upper
        if low.value > high.value or (low.value == high.value and (low.strict or high.strict)):
            impossible |= {"integer", "fraction"}
    if facts.max_length is not None and facts.min_length > facts.max_length:
        impossible.add("string")
    if facts.max_items is not None and facts.min_items > facts.max_items:
        impossible.add("array")
    least = max(facts.min_properties, len(facts.required))
    few = len(facts.required) * sum(1 + len(part.patterns) for part in facts.loose) <= _MAX_LOOKED_UP
    if (facts.max_properties is not None and least > facts.max_properties) or (
        few and "object" in facts.types and any(facts.property(name) == (FALSE,) for name in facts.required)
    ):
        impossible.add("object")
    return frozenset(impossible)


def _counts_spelling(part: Node) -> bool:
    """Return whether 1.0 is not an integer, as in draft 4."""
    return part.location is not None and part.location.draft.year == 4


def _whole_bound(bound: Bound, *, up: bool) -> Bound:
    value = ceil(bound.value) if up else floor(bound.value)
    if bound.strict and value == bound.value:
        value += 1 if up else -1
    return Bound(Fraction(value), strict=False, keyword=bound.keyword)


def _conjunction(nodes: Any) -> tuple[Node, ...]:
    by_id = {id(node): node for node in nodes if node is not TRUE}
    return (FALSE,) if id(FALSE) in by_id else tuple(by_id.values())


def _least(values: Any) -> int | None:
    return min((value for value in values if value is not None), default=None)

"""Table columns and fields from a JSON Schema, and the shape of its documents.

The types are those of Spark's JSON reader: integer becomes bigint, number double, an object with properties a struct, an
object with a schema for additional properties a map. A value without a single type (several types, free objects, tuples)
becomes a string with its JSON text. Formats such as date-time stay strings, as in the documents.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.schema.columns import HiveColumn, check_depth, hive_column
from penstock.schema.errors import NoColumns
from penstock.schema.format import Field
from penstock.schema.jsonschema.compatibility.facts import Facts, gather
from penstock.schema.jsonschema.model import FALSE, JsonSchema, Node, constant, step, type_names
from penstock.types import model as t

__all__ = ["JsonMember", "JsonShape", "columns", "fields", "shape_of"]

_MAX_BRANCHES = 20
_UNFIT = re.compile(r"[,:<>`\s]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonShape:
    """The values that a schema accepts: the type of a column with what a decoder checks of them.

    ``kind`` is ``struct``, ``map``, ``array`` or a scalar's type; ``text`` stands for values without a single type, in
    a column of type string. ``members`` are of a struct, ``items`` of a map or an array. ``closed`` is true for an object
    that accepts no other properties.
    """

    kind: str
    nullable: bool = True
    members: "tuple[JsonMember, ...]" = ()
    items: "JsonShape | None" = None
    closed: bool = False
    type: t.LakeType = field(default=t.STRING, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMember:
    """A listed property of an object."""

    name: str
    shape: JsonShape
    required: bool = False


_TEXT = JsonShape(kind="text")


def fields(tree: JsonSchema) -> tuple[Field, ...]:
    """Return the top-level properties in the order of the definition; none if the schema is not of an object."""
    known_facts = _KnownFacts()
    facts = known_facts.of((tree.root,))
    if "object" not in facts.types:
        return ()
    result = []
    for name, listed in _listed_properties(facts).items():
        inner = known_facts.of(listed)
        result.append(Field(name=name, type=_describe(inner), doc=_comment(inner), required=name in facts.required))
    return tuple(result)


def columns(tree: JsonSchema) -> tuple[HiveColumn, ...]:
    """Return the columns of a schema of an object. Raise :class:`NoColumns` as :func:`shape_of` does."""
    return _Shapes().table(tree)[1]


def shape_of(tree: JsonSchema) -> JsonShape:
    """Return the shape of a schema of an object.

    Raise :class:`NoColumns` for other schemas, for types that contain themselves, for names that a table type cannot hold,
    and for types that nest deeper than 64 levels or are longer than a catalog column holds.
    """
    return _Shapes().table(tree)[0]


class _KnownFacts:
    """The facts of the groups of schemas of one definition, each gathered once."""

    def __init__(self) -> None:
        self._constants: dict[str, Node] = {}
        self._by_nodes: dict[frozenset[int], Facts] = {}

    def of(self, nodes: Sequence[Node]) -> Facts:
        """Return the facts of a value that all ``nodes`` accept; alternatives of null and one other schema are resolved."""
        key = frozenset(map(id, nodes))
        if key not in self._by_nodes:
            self._by_nodes[key] = self._gathered(nodes)
        return self._by_nodes[key]

    def _gathered(self, nodes: Sequence[Node]) -> Facts:
        facts = gather(nodes, self._constants, constant)
        for _ in range(t.MAX_DEPTH):
            single = [
                branch
                for choice in facts.choices
                if len(choice.branches) <= _MAX_BRANCHES
                if len(real := [node for node in choice.branches if gather([node], {}, constant).types != {"null"}]) == 1
                for branch in real
            ]
            if not single:
                break
            facts = gather([*facts.nodes, *single], self._constants, constant)
        return facts


class _Place(NamedTuple):
    """Where a value is: its path for messages, the schemas around it, its level."""

    path: str
    inside: frozenset[int]
    depth: int

    def at(self, step: str) -> "_Place":
        return _Place(self.path + step, self.inside, self.depth + 1)


class _Shapes:
    """The shapes of one definition. Each group of schemas is converted once."""

    def __init__(self) -> None:
        self._facts = _KnownFacts()
        self._shapes: dict[frozenset[int], JsonShape] = {}

    def table(self, tree: JsonSchema) -> tuple[JsonShape, tuple[HiveColumn, ...]]:
        """Return the shape of the outermost object, and a table's columns for its properties."""
        facts = self._facts.of((tree.root,))
        properties = _listed_properties(facts) if facts.types - {"null"} == {"object"} else {}
        if not properties:
            raise NoColumns(
                f"A table needs a schema of an object with properties, not of {facts.describe()}.",
                remedy='Give the schema "type": "object" and properties.',
            )
        shape = self._struct(facts, _Place("", frozenset(map(id, facts.nodes)), 0))
        return shape, tuple(
            hive_column(
                member.name, member.shape.type, _comment(self._facts.of(nodes)), path=step("properties", member.name)
            )
            for member, nodes in zip(shape.members, properties.values(), strict=True)
        )

    def _of(self, nodes: Sequence[Node], place: _Place) -> JsonShape:
        key = frozenset(map(id, nodes))
        if key not in self._shapes:
            check_depth(place.path, place.depth)
            facts = self._facts.of(nodes)
            own = {id(node) for node in facts.nodes}
            if own & place.inside and facts.types - {"null"} <= {"object", "array"}:
                raise NoColumns(
                    f"{place.path}: the schema contains itself, and a table's columns are finite.",
                    remedy="Bound the recursion, for example by an array of ids in place of the nested object.",
                )
            self._shapes[key] = self._one(facts, place._replace(inside=place.inside | own))
        return self._shapes[key]

    def _one(self, facts: Facts, place: _Place) -> JsonShape:
        types = facts.types - {"null"}
        if types and types <= {"integer", "fraction"}:
            return _scalar("double" if "fraction" in types else "bigint", facts)
        if len(types) != 1 or (facts.choices and types & {"object", "array"}):
            return _TEXT
        (name,) = types
        if name == "array":
            return self._array(facts, place)
        return self._object(facts, place) if name == "object" else _scalar(name, facts)

    def _array(self, facts: Facts, place: _Place) -> JsonShape:
        tuples = any(node.prefix for node in facts.nodes) or not facts.rest() or facts.rest() == (FALSE,)
        items = _TEXT if tuples else self._of(facts.rest(), place.at("/items"))
        return JsonShape(kind="array", nullable="null" in facts.types, items=items, type=t.Array(items.type))

    def _object(self, facts: Facts, place: _Place) -> JsonShape:
        if _listed_properties(facts):
            return self._struct(facts, place)
        values = _values_of(facts)
        if values is None:
            return _TEXT
        items = self._of(values, place.at("/additionalProperties"))
        return JsonShape(kind="map", nullable="null" in facts.types, items=items, type=t.Map(t.STRING, items.type))

    def _struct(self, facts: Facts, place: _Place) -> JsonShape:
        members = []
        for name, nodes in _listed_properties(facts).items():
            inner = place.at(step("properties", name))
            if place.depth and (_UNFIT.search(name) or not name):
                raise NoColumns(
                    f"{inner.path}: '{name[:100]}' is not a valid name of a struct's field in a table.",
                    remedy="Rename the property: no spaces, commas, colons, backticks or angle brackets.",
                )
            members.append(JsonMember(name=name, shape=self._of(nodes, inner), required=name in facts.required))
        return JsonShape(
            kind="struct",
            nullable="null" in facts.types,
            members=tuple(members),
            closed=any(node.additional is FALSE and not node.patterns for node in facts.nodes),
            type=t.Struct(tuple(t.Field(member.name, member.shape.type) for member in members)),
        )


def _scalar(name: str, facts: Facts) -> JsonShape:
    return JsonShape(kind=name, nullable="null" in facts.types, type=t.Scalar(name))


def _values_of(facts: Facts) -> tuple[Node, ...] | None:
    """Return the one schema of the values of an object without listed properties; None if it is not a map."""
    values = [
        node.additional for node in facts.nodes if node.additional not in (FALSE,) and node.additional.schema is not True
    ]
    values += [inner for node in facts.nodes for inner in node.patterns.values()]
    return tuple(values) if len(values) == 1 else None


def _listed_properties(facts: Facts) -> dict[str, tuple[Node, ...]]:
    """Return the listed properties that a value may have, each with the schemas that list it.

    In the order of the definition, the outermost schema's first.
    """
    listed_properties: dict[str, list[Node]] = {}
    for node in facts.nodes:
        for name, inner in node.properties.items():
            listed_properties.setdefault(name, []).append(inner)
    return {name: tuple(nodes) for name, nodes in listed_properties.items() if FALSE not in nodes}


def _comment(facts: Facts) -> str | None:
    """Return the description closest to the property: its own before that of what it refers to."""
    for node in facts.nodes:
        text = node.schema.get("description") if isinstance(node.schema, dict) else None
        if isinstance(text, str):
            return text
    return None


def _describe(facts: Facts) -> str:
    if facts.values is not None and facts.types:
        return f"enum of {type_names(facts.types)}"
    return facts.describe()

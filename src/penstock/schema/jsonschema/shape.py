"""The shape of the documents of a JSON Schema: the types of a table's columns with what a decoder checks of them.

The types are those of :mod:`penstock.schema.jsonschema.hive`, type by type.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.schema.jsonschema.compatibility.facts import Facts
from penstock.schema.jsonschema.hive import JsonTypes, columns, listed_properties
from penstock.schema.jsonschema.model import FALSE, JsonSchema, Node

__all__ = ["JsonMember", "JsonShape", "shape_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonShape:
    """The values that a schema accepts.

    ``kind`` is ``struct``, ``map``, ``array`` or a scalar's Hive type; ``text`` stands for values without a single type, in
    a column of type string. ``members`` are of a struct, ``items`` of a map or an array. ``closed`` is true for an object
    that accepts no other properties.
    """

    kind: str
    nullable: bool = True
    members: "tuple[JsonMember, ...]" = ()
    items: "JsonShape | None" = None
    closed: bool = False

    @property
    def hive(self) -> str:
        """The Hive type."""
        if self.kind == "struct":
            return f"struct<{','.join(f'{item.name}:{item.shape.hive}' for item in self.members)}>"
        if self.items is not None:
            return f"map<string,{self.items.hive}>" if self.kind == "map" else f"array<{self.items.hive}>"
        return "string" if self.kind == "text" else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMember:
    """A listed property of an object."""

    name: str
    shape: JsonShape
    required: bool = False


TEXT = JsonShape(kind="text")


def shape_of(tree: JsonSchema) -> JsonShape:
    """Return the shape of a schema of an object. Raise :class:`~penstock.schema.errors.NoColumns` as ``columns`` does."""
    columns(tree)  # refuses what has no finite type
    return _Shapes().of((tree.root,))


class _Shapes:
    """The shapes of one schema. Each group of schemas is converted once."""

    def __init__(self) -> None:
        self._types = JsonTypes()
        self._done: dict[frozenset[int], JsonShape] = {}

    def of(self, nodes: Sequence[Node]) -> JsonShape:
        """Return the shape of a value that all ``nodes`` accept."""
        key = frozenset(map(id, nodes))
        if key not in self._done:
            self._done[key] = self._one(self._types.facts(nodes))
        return self._done[key]

    def _one(self, facts: Facts) -> JsonShape:
        kinds, nullable = facts.types - {"null"}, "null" in facts.types
        if kinds and kinds <= {"integer", "fraction"}:
            return JsonShape(kind="double" if "fraction" in kinds else "bigint", nullable=nullable)
        if len(kinds) != 1 or (facts.choices and kinds & {"object", "array"}):
            return TEXT
        match next(iter(kinds)):
            case "object":
                return self._object(facts, nullable)
            case "array":
                tuples = any(node.prefix for node in facts.nodes) or not facts.rest() or facts.rest() == (FALSE,)
                return JsonShape(kind="array", nullable=nullable, items=TEXT if tuples else self.of(facts.rest()))
            case kind:
                return JsonShape(kind=kind, nullable=nullable)

    def _object(self, facts: Facts, nullable: bool) -> JsonShape:
        listed = listed_properties(facts)
        closed = any(node.additional is FALSE and not node.patterns for node in facts.nodes)
        if listed:
            members = (
                JsonMember(name=name, shape=self.of(nodes), required=name in facts.required)
                for name, nodes in listed.items()
            )
            return JsonShape(kind="struct", nullable=nullable, members=tuple(members), closed=closed)
        values = self._types.values_of(facts)
        return TEXT if values is None else JsonShape(kind="map", nullable=nullable, items=self.of(values))

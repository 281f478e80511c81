"""Table columns and fields from a JSON Schema.

The types are those of Spark's JSON reader: integer becomes bigint, number double, an object with properties a struct, an
object with a schema for additional properties a map. A value without a single type (several types, free objects, tuples)
becomes a string with its JSON text. Formats such as date-time stay strings, as in the documents.
"""

import re
from collections.abc import Sequence

from penstock.schema.errors import NoColumns
from penstock.schema.format import Field
from penstock.schema.hive import MAX_HIVE_DEPTH, MAX_HIVE_TYPE, HiveColumn
from penstock.schema.jsonschema.compatibility.facts import Facts, gather
from penstock.schema.jsonschema.model import FALSE, JsonSchema, Node, constant, step, type_names

__all__ = ["JsonTypes", "columns", "fields", "listed_properties"]

_TEXT = "string"
_MAX_BRANCHES = 20
_PLAIN = {"boolean": "boolean", "integer": "bigint", "string": _TEXT, "null": _TEXT}
_UNFIT = re.compile(r"[,:<>`\s]")


def fields(tree: JsonSchema) -> tuple[Field, ...]:
    """Return the top-level properties in the order of the definition; none if the schema is not of an object."""
    types = JsonTypes()
    facts = types.facts((tree.root,))
    if "object" not in facts.types:
        return ()
    found = []
    for name, listed in listed_properties(facts).items():
        inner = types.facts(listed)
        found.append(Field(name=name, type=_describe(inner), doc=_comment(inner), required=name in facts.required))
    return tuple(found)


def columns(tree: JsonSchema) -> tuple[HiveColumn, ...]:
    """Return the columns of a schema of an object.

    Raise :class:`NoColumns` for other schemas, for types that contain themselves, for names that a table type cannot hold,
    and for types that nest deeper than 64 levels or are longer than a catalog column holds.
    """
    types = JsonTypes()
    facts = types.facts((tree.root,))
    properties = listed_properties(facts) if facts.types - {"null"} == {"object"} else {}
    if not properties:
        raise NoColumns(
            f"A table needs a schema of an object with properties, not of {facts.describe()}.",
            remedy='Give the schema "type": "object" and properties.',
        )
    inside = frozenset(map(id, facts.nodes))
    return tuple(
        HiveColumn(
            name=name,
            type=types.text(listed, step("properties", name), inside),
            comment=_comment(types.facts(listed)),
        )
        for name, listed in properties.items()
    )


class JsonTypes:
    """The Hive types of one schema. Each group of schemas is written once and then reused."""

    def __init__(self) -> None:
        self.constants: dict[str, Node] = {}
        self.done: dict[frozenset[int], str] = {}
        self.known: dict[frozenset[int], Facts] = {}

    def facts(self, nodes: Sequence[Node]) -> Facts:
        """Return the facts of a value that all ``nodes`` accept; alternatives of null and one other schema are resolved."""
        key = frozenset(map(id, nodes))
        if key not in self.known:
            self.known[key] = self._facts(nodes)
        return self.known[key]

    def _facts(self, nodes: Sequence[Node]) -> Facts:
        facts = gather(nodes, self.constants, constant)
        for _ in range(MAX_HIVE_DEPTH):
            found = [
                branch
                for choice in facts.choices
                if len(choice.branches) <= _MAX_BRANCHES
                if len(real := [item for item in choice.branches if gather([item], {}, constant).types != {"null"}]) == 1
                for branch in real
            ]
            if not found:
                break
            facts = gather([*facts.nodes, *found], self.constants, constant)
        return facts

    def text(self, nodes: tuple[Node, ...], path: str, inside: frozenset[int], depth: int = 1) -> str:
        """Return the Hive type of a value that all ``nodes`` accept; ``inside`` are the schemas around it."""
        key = frozenset(map(id, nodes))
        if key in self.done:
            return self.done[key]
        if depth > MAX_HIVE_DEPTH:
            raise NoColumns(f"{path}: types nest more than {MAX_HIVE_DEPTH} levels.", remedy="Flatten the schema.")
        facts = self.facts(nodes)
        own = {id(node) for node in facts.nodes}
        if own & inside and facts.types - {"null"} <= {"object", "array"}:
            raise NoColumns(
                f"{path}: the schema contains itself, and a table's columns are finite.",
                remedy="Bound the recursion, for example by an array of ids in place of the nested object.",
            )
        text = self._one(facts, path, inside | own, depth)
        if len(text) > MAX_HIVE_TYPE:
            raise NoColumns(
                f"{path}: the column's type has {len(text)} characters; the catalog holds {MAX_HIVE_TYPE}.",
                remedy="Flatten the schema, or repeat nested objects less often.",
            )
        self.done[key] = text
        return text

    def _one(self, facts: Facts, path: str, inside: frozenset[int], depth: int) -> str:
        kinds = facts.types - {"null"}
        if kinds and kinds <= {"integer", "fraction"}:
            return "double" if "fraction" in kinds else "bigint"
        if len(kinds) != 1 or facts.choices:
            return _TEXT if len(kinds) != 1 or kinds & {"object", "array"} else _PLAIN[next(iter(kinds))]
        if kinds == {"object"}:
            return self._object(facts, path, inside, depth)
        if kinds == {"array"}:
            if any(node.prefix for node in facts.nodes) or not facts.rest() or facts.rest() == (FALSE,):
                return f"array<{_TEXT}>"
            return f"array<{self.text(facts.rest(), f'{path}/items', inside, depth + 1)}>"
        return _PLAIN[next(iter(kinds))]

    def _object(self, facts: Facts, path: str, inside: frozenset[int], depth: int) -> str:
        properties = listed_properties(facts)
        if properties:
            parts: list[str] = []
            size = 0
            for name, listed in properties.items():
                where = path + step("properties", name)
                if _UNFIT.search(name) or not name:
                    raise NoColumns(
                        f"{where}: '{name[:100]}' is not a valid name of a struct's field in a table.",
                        remedy="Rename the property: no spaces, commas, colons, backticks or angle brackets.",
                    )
                parts.append(f"{name}:{self.text(listed, where, inside, depth + 1)}")
                size += len(parts[-1])
                if size > MAX_HIVE_TYPE:
                    break  # the caller refuses it by its length
            return f"struct<{','.join(parts)}>"
        values = self.values_of(facts)
        if values is None:
            return _TEXT
        return f"map<string,{self.text(values, f'{path}/additionalProperties', inside, depth + 1)}>"

    def values_of(self, facts: Facts) -> tuple[Node, ...] | None:
        """Return the one schema of the values of an object without listed properties; None if it is not a map."""
        values = [
            node.additional for node in facts.nodes if node.additional not in (FALSE,) and node.additional.schema is not True
        ]
        values += [inner for node in facts.nodes for inner in node.patterns.values()]
        return tuple(values) if len(values) == 1 else None


def listed_properties(facts: Facts) -> dict[str, tuple[Node, ...]]:
    """Return the listed properties that a value may have, each with the schemas that list it.

    In the order of the definition, the outermost schema's first.
    """
    found: dict[str, list[Node]] = {}
    for node in facts.nodes:
        for name, inner in node.properties.items():
            found.setdefault(name, []).append(inner)
    return {name: tuple(nodes) for name, nodes in found.items() if FALSE not in nodes}


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

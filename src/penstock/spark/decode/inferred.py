"""The schema of JSON documents that none is registered for: inferred from the records, and extended by later ones.

A version is a JSON Schema with closed objects, so that a document with a new field does not fit and leads to the next
version. A type never changes but from integer to number: documents that contradict it become dead letters.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, UUID, uuid5

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.errors import DataProblem, NotFound
from penstock.schema.version import SchemaVersion

__all__ = ["InferredSchema", "Shape", "check_names", "extended", "json_schema", "merged", "read_shape"]

_REGISTER = "Register a JSON Schema in which the object has additionalProperties, and name it in decode.schema."
_MAX_SHAPES = 10_000
_MAX_FIELDS = 2_000
_UNFIT = re.compile(r"[,:<>`\s]")
_SCALARS = {"STRING": "string", "BIGINT": "integer", "DOUBLE": "number", "BOOLEAN": "boolean", "VOID": "void"}
_NOTHING_YET = json.dumps(
    {"type": "object", "properties": {"_nothing_yet_": {"type": "null"}}, "additionalProperties": False}
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A type: void, string, integer, number, boolean, array, object, or ``any`` for a mixture."""

    name: str
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    items: "Shape | None" = None


VOID, ANY = Shape("void"), Shape("any")


class InferredSchema:
    """The inferred versions; a source of versions like the registry, with the newest one only."""

    def __init__(self, column: str = "value") -> None:
        """``column`` of the records has the documents."""
        self._column = column
        self._type = VOID
        self._number = 0

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> Sequence[SchemaVersion]:  # noqa: ARG002
        """Return the newest version; before the first record, one that no document fits."""
        definition = json_schema(self._type) if self._number else _NOTHING_YET
        version_id = uuid5(NAMESPACE_URL, definition)
        version = SchemaVersion(
            id=version_id,
            schema_arn="",
            registry_name="",
            schema_name="inferred",
            number=self._number,
            definition=definition,
            data_format="JSON",
        )
        return [version]

    def version(self, version_id: UUID | str) -> SchemaVersion:
        """Raise :class:`NotFound`: documents do not name versions."""
        raise NotFound(f"No registry has version {version_id}.")

    def recall(self, state: Mapping[str, object]) -> None:
        """Go on from the ``number`` and the ``definition`` of the last batch's reader, unless newer ones are known."""
        number = int(str(state.get("number", 0)))
        if number > self._number:
            self._number = number
            self._type = _of_schema(json.loads(str(state["definition"])))

    def learn(self, records: DataFrame) -> bool:
        """Extend the schema by the documents of ``records`` ; return whether it changed.

        This reads the source once more. Raises :class:`DataProblem` for documents that no table can hold.
        """
        variant = F.try_parse_json(F.col(self._column).cast("string"))
        shapes = records.select(F.schema_of_variant(variant).alias("shape")).filter("shape like 'OBJECT<%'").distinct()
        batch_type = VOID
        for row in shapes.limit(_MAX_SHAPES).collect():
            batch_type = merged(batch_type, read_shape(row["shape"]))
        # What is known stays: the first batch may choose freely, later ones can only add and widen.
        now = extended(self._type, batch_type) if self._number else batch_type
        if now == self._type or not any(field_type.name != "void" for field_type in now.fields.values()):
            return False
        check_names(now)
        self._type, self._number = now, self._number + 1
        return True


def read_shape(text: str) -> Shape:
    """Return the type that Spark's ``schema_of_variant`` wrote."""
    inferred, _ = _read(text, 0)
    return inferred


def _read(text: str, at: int) -> tuple[Shape, int]:
    if text.startswith("ARRAY<", at):
        items, at = _read(text, at + 6)
        return Shape("array", items=items), at + 1
    if text.startswith("OBJECT<", at):
        fields: dict[str, Shape] = {}
        at += 7
        while text[at] != ">":
            name, at = _name(text, at + 2 if text.startswith(", ", at) else at)
            fields[name], at = _read(text, at)
        return Shape("object", fields=fields), at + 1
    match = re.compile(r"[A-Z_]+").match(text, at)
    word, at = (match[0], match.end()) if match else ("", at)
    if text.startswith("(", at):
        at = text.index(")", at) + 1
    return (Shape("number") if word == "DECIMAL" else Shape(_SCALARS.get(word, "any"))), at


def _name(text: str, at: int) -> tuple[str, int]:
    match = re.compile(r"`((?:[^`]|``)*)`: |([^:`<>]*): ").match(text, at)
    assert match is not None, text[at : at + 80]
    return (match[2] if match[1] is None else match[1].replace("``", "`")), match.end()


def merged(one: Shape, other: Shape) -> Shape:
    """Return a type for the values of both; ``any`` if no narrower type holds both."""
    if one == other or other.name == "void":
        return one
    if one.name == "void":
        return other
    names = {one.name, other.name}
    if names == {"integer", "number"}:
        return Shape("number")
    if names == {"object"}:
        every = dict.fromkeys([*one.fields, *other.fields])
        return Shape("object", {name: merged(one.fields.get(name, VOID), other.fields.get(name, VOID)) for name in every})
    if names == {"array"}:
        return Shape("array", items=merged(one.items or VOID, other.items or VOID))
    return ANY


def extended(base: Shape, more: Shape) -> Shape:
    """Return ``base`` with what ``more`` adds; where they contradict each other, ``base``."""
    if base.name == "object" and more.name == "object":
        every = dict.fromkeys([*base.fields, *more.fields])
        fields = {name: extended(base.fields.get(name, VOID), more.fields.get(name, VOID)) for name in every}
        return Shape("object", fields)
    if base.name == "array" and more.name == "array":
        return Shape("array", items=extended(base.items or VOID, more.items or VOID))
    if base.name == "integer" and more.name == "number":
        return more
    return more if base.name == "void" else base


def json_schema(data_type: Shape) -> str:
    """Return the JSON Schema of documents of this type; fields without a value so far are not in it."""
    return json.dumps({**_schema(data_type), "type": "object"}, separators=(",", ":"))


def _schema(data_type: Shape) -> dict[str, object]:
    match data_type.name:
        case "object":
            properties = {
                name: _schema(field_type) for name, field_type in data_type.fields.items() if _is_typed(field_type)
            }
            return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}
        case "array":
            return {"type": ["array", "null"], "items": _schema(data_type.items or VOID)}
        case "any" | "void":
            return {}
        case name:
            return {"type": [name, "null"]}


def _is_typed(data_type: Shape) -> bool:
    """Return whether a column can be made: not for null, ``[]`` and ``{}`` alone."""
    if data_type.name == "object":
        return any(_is_typed(field_type) for field_type in data_type.fields.values())
    return data_type.name != "void" and (data_type.items is None or _is_typed(data_type.items))


def _of_schema(schema: Mapping[str, object]) -> Shape:
    names = schema.get("type")
    name = (
        names
        if isinstance(names, str)
        else next((item for item in names if item != "null"), "")
        if isinstance(names, list)
        else ""
    )
    properties, items = schema.get("properties"), schema.get("items")
    if name == "object" and isinstance(properties, dict):
        return Shape("object", {key: _of_schema(property_) for key, property_ in properties.items()})
    if name == "array" and isinstance(items, dict):
        return Shape("array", items=_of_schema(items))
    return Shape(name) if name else ANY


def check_names(data_type: Shape, path: str = "") -> None:
    """Raise :class:`DataProblem` for fields that no table can have."""
    names = [name.lower() for name in data_type.fields]
    if len(names) > _MAX_FIELDS:
        raise DataProblem(
            f"The documents have over {_MAX_FIELDS} different fields{f' in {path}' if path else ''}: too many for a table.",
            remedy=_REGISTER,
        )
    for name, field_type in data_type.fields.items():
        where = f"{path}.{name}" if path else name
        if _UNFIT.search(name) or not name or names.count(name.lower()) > 1:
            raise DataProblem(
                f"The documents have a field '{where[:200]}' that no column can be named after.",
                remedy="Names have no space, comma, colon, backtick or angle bracket, and differ by more than case. "
                + _REGISTER,
            )
        check_names(field_type, where)
        if field_type.items is not None:
            check_names(field_type.items, f"{where}[]")

"""Avro's types. Source: Avro specification, "Primitive Types" and "Logical Types".

A type of Avro is what Spark reads it as, so that catalog, decoded rows and files agree.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.types.model import STRING, VOID, Array, Field, LakeType, Map, Scalar, Struct, TypeMissing, scalar_of

__all__ = ["of_branches", "of_primitive", "record"]

_PRIMITIVES: Mapping[str, Scalar] = {
    "null": VOID,
    "boolean": Scalar("boolean"),
    "int": Scalar("int"),
    "long": Scalar("bigint"),
    "float": Scalar("float"),
    "double": Scalar("double"),
    "bytes": Scalar("binary"),
    "string": STRING,
}
_LOGICAL: Mapping[tuple[str, str | None], Scalar] = {
    ("int", "date"): Scalar("date"),
    **{("long", f"{zone}timestamp-{unit}"): Scalar("timestamp") for zone in ("", "local-") for unit in ("millis", "micros")},
}
_WIDER = (({"int", "long"}, Scalar("bigint")), ({"float", "double"}, Scalar("double")))
_MICROSECONDS = {"type": "long", "logicalType": "timestamp-micros"}
_OF_SCALARS: Mapping[str, Any] = {
    **{type_.name: name for name, type_ in _PRIMITIVES.items()},
    **dict.fromkeys(("tinyint", "smallint"), "int"),
    **dict.fromkeys(("varchar", "char"), "string"),
    "date": {"type": "int", "logicalType": "date"},
    **dict.fromkeys(("timestamp", "timestamptz"), _MICROSECONDS),
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
    "uuid": {"type": "string", "logicalType": "uuid"},
}


def of_primitive(name: str, logical: str | None) -> Scalar:
    """Return the type of a primitive, which may have a logical type; one that Spark does not apply is left out."""
    return _LOGICAL.get((name, logical), _PRIMITIVES[name])


def of_branches(branches: Sequence[tuple[str, LakeType]]) -> LakeType:
    """Return the type of a union without null: of its branches come their primitives' names, and their types.

    Of several types it is a struct with a field for each, but for the numbers that one type holds.
    """
    if len(branches) < 2:
        return branches[0][1] if branches else VOID
    names = {name for name, _ in branches}
    wider = next((wider for both, wider in _WIDER if names == both), None)
    return wider or Struct(tuple(Field(f"member{at}", type_) for at, (_, type_) in enumerate(branches)))


def record(name: str, columns: Sequence[tuple[str, LakeType]]) -> dict[str, Any]:
    """Return the schema of a record with ``columns``, each of which may be null. Raises :class:`TypeMissing`.

    The records inside have ``name`` in front of theirs, as a schema names each type once.
    """
    fields = [{"name": column, "type": _nullable(f"{name}_{column}", type_), "default": None} for column, type_ in columns]
    return {"type": "record", "name": name, "fields": fields}


def _nullable(name: str, type_: LakeType) -> Any:
    return "null" if type_ == VOID else ["null", _of(name, type_)]


def _of(name: str, type_: LakeType) -> Any:
    match type_:
        case Array():
            return {"type": "array", "items": _nullable(f"{name}_item", type_.element)}
        case Map():
            if type_.key.name not in {"string", "varchar", "char"}:
                raise TypeMissing("Avro's maps have texts as keys.", remedy="CAST the keys to varchar.")
            return {"type": "map", "values": _nullable(f"{name}_value", type_.value)}
        case Struct():
            return record(name, [(field.name, field.type) for field in type_.fields])
        case Scalar(name="decimal"):
            return {"type": "bytes", "logicalType": "decimal", "precision": type_.numbers[0], "scale": type_.numbers[1]}
        case _:
            return scalar_of(_OF_SCALARS, type_, "Avro")

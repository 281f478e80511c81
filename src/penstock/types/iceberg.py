"""Iceberg's types, in the JSON of its schemas. Source: Iceberg table specification, "Schemas and Data Types", appendix C."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from penstock.types.model import (
    MAX_PRECISION,
    STRING,
    VOID,
    Array,
    Field,
    LakeType,
    Map,
    Scalar,
    Struct,
    TypeMissing,
    fold,
    replace_scalars,
)

__all__ = ["format_version", "in_glue", "parse", "render", "without_digits"]

_ICEBERG: dict[str, Scalar] = {
    "boolean": Scalar("boolean"),
    "int": Scalar("int"),
    "long": Scalar("bigint"),
    "float": Scalar("float"),
    "double": Scalar("double"),
    "date": Scalar("date"),
    "time": Scalar("time", (6,)),
    "timestamp": Scalar("timestamp", (6,)),
    "timestamptz": Scalar("timestamptz", (6,)),
    "string": STRING,
    "uuid": Scalar("uuid"),
    "binary": Scalar("binary"),
}
_VERSION_3: dict[str, Scalar] = {
    "unknown": VOID,
    "timestamp_ns": Scalar("timestamp", (9,)),
    "timestamptz_ns": Scalar("timestamptz", (9,)),
    "variant": Scalar("variant"),
    "geometry": Scalar("geometry"),
    "geography": Scalar("geography"),
}
_NAMES = {type_.name: name for name, type_ in _ICEBERG.items()} | {"timestamp_ntz": "timestamp"}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)
_FIXED = re.compile(r"fixed\[(\d{1,9})\]", re.ASCII)
_GEO = re.compile(r"(geometry|geography)\([^()]{0,200}\)")
_NANO = Scalar("timestamp_nano")
_GLUE = {"time": STRING, "uuid": STRING, "timestamptz": Scalar("timestamp"), "void": Scalar("unknown")}
_GLUE |= {"timestamp": Scalar("timestamp")}


def parse(type_: Any) -> LakeType:
    """Return the type of a field's ``type`` in JSON. Raises :class:`TypeMissing` for one that the specification lacks."""
    if not isinstance(type_, Mapping):
        return _scalar(str(type_))
    match type_["type"]:
        case "struct":
            fields = (
                Field(field["name"], parse(field["type"]), not field.get("required"), field.get("doc"))
                for field in type_["fields"]
            )
            return Struct(tuple(fields))
        case "list":
            return Array(parse(type_["element"]))
        case _:
            return Map(parse(type_["key"]), parse(type_["value"]))


def _field(document: Any) -> Field:
    return Field(document["name"], parse(document["type"]), not document.get("required"), document.get("doc"))


def format_version(type_: str) -> int | None:
    """Return the first version of the format that has the type ``type_``; None if none has.

    Raises :class:`TypeMissing` for a decimal of too many digits.
    """
    decimal = _DECIMAL.fullmatch(type_)
    if decimal and not (int(decimal[2]) <= int(decimal[1]) <= MAX_PRECISION and decimal[1] != "0"):
        raise TypeMissing(f"{MAX_PRECISION} digits are the maximum.")
    if decimal or type_ in _ICEBERG or _FIXED.fullmatch(type_):
        return 1
    return 3 if type_ in _VERSION_3 or _GEO.fullmatch(type_) else None


def _scalar(type_: str) -> Scalar:
    decimal = _DECIMAL.fullmatch(type_)
    if decimal:
        return Scalar("decimal", (int(decimal[1]), int(decimal[2])))
    if type_.startswith("fixed["):
        return Scalar("binary")
    name = type_.partition("(")[0]
    scalar = _ICEBERG.get(name) or _VERSION_3.get(name)
    if scalar is None:
        raise TypeMissing(f"The lake has no type for Iceberg's {type_[:100]}.")
    return scalar


def render(type_: LakeType, ids: Iterator[int], *, small_integers: bool = False) -> Any:
    """Return the type in JSON, with ``ids`` for the fields in it; every one of them is optional.

    ``small_integers`` makes tinyint and smallint an int. Raises :class:`TypeMissing` for a type that format version 2 lacks.
    """
    names = {**_NAMES, "tinyint": "int", "smallint": "int"} if small_integers else _NAMES
    return fold(type_, scalar=_named(names), array=_list(ids), mapping=_map(ids), struct=_struct(ids))


def _named(names: Mapping[str, str]) -> Callable[[Scalar], Any]:
    def name(type_: Scalar) -> str:
        if type_.name == "decimal":
            return "decimal({}, {})".format(*type_.numbers)
        if type_.name not in names:
            raise TypeMissing(f"Iceberg has no type for {type_.name}.", remedy="Use int, bigint or string.")
        return names[type_.name]

    return name


def _list(ids: Iterator[int]) -> Callable[[Any], Any]:
    return lambda element: {"type": "list", "element-id": next(ids), "element": element, "element-required": False}


def _map(ids: Iterator[int]) -> Callable[[Any, Any], Any]:
    def mapping(key: Any, value: Any) -> Any:
        members = {"key-id": next(ids), "key": key, "value-id": next(ids), "value": value}
        return {"type": "map", **members, "value-required": False}

    return mapping


def _struct(ids: Iterator[int]) -> Callable[[Struct, tuple[Any, ...]], Any]:
    def struct(type_: Struct, types: tuple[Any, ...]) -> Any:
        pairs = zip(type_.fields, types, strict=True)
        return {
            "type": "struct",
            "fields": [{"id": next(ids), "name": field.name, "required": False, "type": item} for field, item in pairs],
        }

    return struct


def in_glue(type_: LakeType) -> LakeType:
    """Return the type that Iceberg's Java GlueCatalog writes to a table's column, for :func:`penstock.types.hive.render`."""
    return replace_scalars(type_, _in_glue)


def _in_glue(type_: Scalar) -> LakeType:
    is_nano = type_.name in {"timestamp", "timestamptz"} and type_.numbers == (9,)
    return _NANO if is_nano else _GLUE.get(type_.name, type_)


def without_digits(type_: LakeType) -> LakeType:
    """Return the type without the digits of its times, as DDL has it."""
    return replace_scalars(type_, _plain)


def _plain(type_: Scalar) -> LakeType:
    return Scalar(type_.name) if type_.name.startswith("time") else type_

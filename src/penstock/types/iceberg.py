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
_NAMES = {kind.name: name for name, kind in _ICEBERG.items()} | {"timestamp_ntz": "timestamp"}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)
_FIXED = re.compile(r"fixed\[(\d{1,9})\]", re.ASCII)
_GEO = re.compile(r"(geometry|geography)\([^()]{0,200}\)")
_NANO = Scalar("timestamp_nano")
_GLUE = {"time": STRING, "uuid": STRING, "timestamptz": Scalar("timestamp"), "void": Scalar("unknown")}
_GLUE |= {"timestamp": Scalar("timestamp")}


def parse(kind: Any) -> LakeType:
    """Return the type of a field's ``type`` in JSON. Raises :class:`TypeMissing` for one that the specification lacks."""
    if not isinstance(kind, Mapping):
        return _scalar(str(kind))
    match kind["type"]:
        case "struct":
            fields = (
                Field(field["name"], parse(field["type"]), not field.get("required"), field.get("doc"))
                for field in kind["fields"]
            )
            return Struct(tuple(fields))
        case "list":
            return Array(parse(kind["element"]))
        case _:
            return Map(parse(kind["key"]), parse(kind["value"]))


def _field(document: Any) -> Field:
    return Field(document["name"], parse(document["type"]), not document.get("required"), document.get("doc"))


def format_version(kind: str) -> int | None:
    """Return the first version of the format that has the type named ``kind``; None if none has.

    Raises :class:`TypeMissing` for a decimal of too many digits.
    """
    decimal = _DECIMAL.fullmatch(kind)
    if decimal and not (int(decimal[2]) <= int(decimal[1]) <= MAX_PRECISION and decimal[1] != "0"):
        raise TypeMissing(f"{MAX_PRECISION} digits are the maximum.")
    if decimal or kind in _ICEBERG or _FIXED.fullmatch(kind):
        return 1
    return 3 if kind in _VERSION_3 or _GEO.fullmatch(kind) else None


def _scalar(kind: str) -> Scalar:
    decimal = _DECIMAL.fullmatch(kind)
    if decimal:
        return Scalar("decimal", (int(decimal[1]), int(decimal[2])))
    if kind.startswith("fixed["):
        return Scalar("binary")
    name = kind.partition("(")[0]
    known = _ICEBERG.get(name) or _VERSION_3.get(name)
    if known is None:
        raise TypeMissing(f"The lake has no type for Iceberg's {kind[:100]}.")
    return known


def render(kind: LakeType, ids: Iterator[int], *, small_integers: bool = False) -> Any:
    """Return the type in JSON, with ``ids`` for the fields in it; every one of them is optional.

    ``small_integers`` makes tinyint and smallint an int. Raises :class:`TypeMissing` for a type that format version 2 lacks.
    """
    names = {**_NAMES, "tinyint": "int", "smallint": "int"} if small_integers else _NAMES
    return fold(kind, scalar=_named(names), array=_list(ids), mapping=_map(ids), struct=_struct(ids))


def _named(names: Mapping[str, str]) -> Callable[[Scalar], Any]:
    def name(kind: Scalar) -> str:
        if kind.name == "decimal":
            return "decimal({}, {})".format(*kind.numbers)
        if kind.name not in names:
            raise TypeMissing(f"Iceberg has no type for {kind.name}.", remedy="Use int, bigint or string.")
        return names[kind.name]

    return name


def _list(ids: Iterator[int]) -> Callable[[Any], Any]:
    return lambda element: {"type": "list", "element-id": next(ids), "element": element, "element-required": False}


def _map(ids: Iterator[int]) -> Callable[[Any, Any], Any]:
    def mapping(key: Any, value: Any) -> Any:
        named = {"key-id": next(ids), "key": key, "value-id": next(ids), "value": value}
        return {"type": "map", **named, "value-required": False}

    return mapping


def _struct(ids: Iterator[int]) -> Callable[[Struct, tuple[Any, ...]], Any]:
    def struct(kind: Struct, types: tuple[Any, ...]) -> Any:
        pairs = zip(kind.fields, types, strict=True)
        return {
            "type": "struct",
            "fields": [{"id": next(ids), "name": field.name, "required": False, "type": item} for field, item in pairs],
        }

    return struct


def in_glue(kind: LakeType) -> LakeType:
    """Return the type that Iceberg's Java GlueCatalog writes to a table's column, for :func:`penstock.types.hive.render`."""
    return replace_scalars(kind, _in_glue)


def _in_glue(kind: Scalar) -> LakeType:
    is_nano = kind.name in {"timestamp", "timestamptz"} and kind.numbers == (9,)
    return _NANO if is_nano else _GLUE.get(kind.name, kind)


def without_digits(kind: LakeType) -> LakeType:
    """Return the type without the digits of its times, as DDL has it."""
    return replace_scalars(kind, _plain)


def _plain(kind: Scalar) -> LakeType:
    return Scalar(kind.name) if kind.name.startswith("time") else kind

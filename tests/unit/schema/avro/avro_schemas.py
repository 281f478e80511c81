"""Random Avro schemas, related enough that two of them often resolve, and data that visits every branch of one."""

import random
from typing import Any

from hypothesis import strategies as st

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
DEFAULTS: dict[str, Any] = {
    "null": None, "boolean": True, "int": 1, "long": 2, "float": 0.5, "double": 1.5, "bytes": "\u00ff", "string": "x",
}  # fmt: skip
VALUES: dict[str, Any] = {
    "null": None, "boolean": False, "int": 7, "long": 8, "float": 2.5, "double": 3.5, "bytes": b"b", "string": "s",
}  # fmt: skip


@st.composite
def schemas(draw: st.DrawFn, path: str = "N", depth: int = 2) -> Any:  # noqa: PLR0911 - one case a type
    """A schema as JSON values. Named types take their names from their place, so that two draws agree on them."""
    kinds = ["primitive"] * 3 + ["enum", "fixed"]
    if depth:
        kinds += ["record", "record", "array", "map", "union"]
    match draw(st.sampled_from(kinds)):
        case "primitive":
            return draw(st.sampled_from(PRIMITIVES))
        case "enum":
            symbols = draw(st.lists(st.sampled_from("ABC"), min_size=1, max_size=3, unique=True))
            default = {"default": symbols[0]} if draw(st.booleans()) else {}
            return {"type": "enum", "name": f"E{path}", "symbols": symbols, **default}
        case "fixed":
            return {"type": "fixed", "name": f"F{path}", "size": draw(st.sampled_from((2, 3)))}
        case "record":
            return draw(records(path, depth))
        case "array":
            return {"type": "array", "items": draw(schemas(f"{path}_i", depth - 1))}
        case "map":
            return {"type": "map", "values": draw(schemas(f"{path}_v", depth - 1))}
        case _:
            return draw(unions(path, depth))


@st.composite
def records(draw: st.DrawFn, path: str = "N", depth: int = 2) -> Any:
    """A record with some of the fields a, b and c."""
    fields = []
    for name in draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True)):
        kind = draw(schemas(f"{path}_{name}", depth - 1))
        field = {"name": name, "type": kind}
        first = kind[0] if isinstance(kind, list) else kind
        if isinstance(first, str) and draw(st.booleans()):
            field["default"] = DEFAULTS[first]
        if draw(st.integers(0, 5)) == 0:
            field["aliases"] = [draw(st.sampled_from("xyz"))]
        fields.append(field)
    return {"type": "record", "name": f"R{path}", "fields": fields}


@st.composite
def unions(draw: st.DrawFn, path: str, depth: int) -> Any:
    branches = draw(st.lists(schemas(f"{path}_u", depth - 1), min_size=1, max_size=3))
    kept: dict[str, Any] = {}
    for branch in branches:
        if not isinstance(branch, list):
            kept.setdefault(kind_of(branch), branch)
    return list(kept.values()) or ["null"]


def kind_of(schema: Any) -> str:
    return schema if isinstance(schema, str) else schema["type"]


def covering(schema: Any) -> list[Any]:  # noqa: PLR0911 - one case a type
    """Data of ``schema`` that among them write every branch, symbol and field; union data in fastavro's tuple notation."""
    if isinstance(schema, list):
        return [
            (branch["name"] if isinstance(branch, dict) and "name" in branch else kind_of(branch), datum)
            for branch in schema
            for datum in covering(branch)
        ]
    match kind_of(schema):
        case "record":
            choices = {field["name"]: covering(field["type"]) for field in schema["fields"]}
            rows = max((len(items) for items in choices.values()), default=1)
            return [{name: items[row % len(items)] for name, items in choices.items()} for row in range(rows)]
        case "enum":
            return list(schema["symbols"])
        case "fixed":
            return [b"f" * schema["size"]]
        case "array":
            return [[datum] for datum in covering(schema["items"])]
        case "map":
            return [{"k": datum} for datum in covering(schema["values"])]
        case name:
            return [VALUES[name]]


def respelled(value: Any, seed: int) -> Any:
    """The same JSON with the members of its objects in another order."""
    shuffle = random.Random(seed)
    if isinstance(value, list):
        return [respelled(item, seed) for item in value]
    if isinstance(value, dict):
        members = [(key, respelled(item, seed)) for key, item in value.items()]
        shuffle.shuffle(members)
        return dict(members)
    return value

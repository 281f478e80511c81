"""Hypothesis strategies: Avro schemas, and values that fit one; recursion, named types and logical types included."""

import datetime
import string
from decimal import Decimal
from itertools import count
from typing import Any

from hypothesis import strategies as st

_NAMES = st.text(string.ascii_letters, min_size=1, max_size=6)
_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=20),
    "string": st.text(max_size=20),
}
_UTC = datetime.UTC
_LOGICAL: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    ("int", "date"): st.dates(),
    ("long", "timestamp-micros"): st.datetimes(
        datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1), timezones=st.just(_UTC)
    ),
    ("long", "time-micros"): st.times(),
    ("string", "uuid"): st.uuids(),
    ("bytes", "decimal"): st.integers(-9999, 9999).map(lambda number: Decimal(number).scaleb(-2)),
}


@st.composite
def schemas_and_values(draw: st.DrawFn) -> tuple[Any, st.SearchStrategy[Any]]:
    """A schema as parsed JSON and the strategy of its values."""
    return _Maker(draw).schema(0)


class _Maker:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._numbers = count()

    def schema(self, depth: int, *, union: bool = True) -> tuple[Any, st.SearchStrategy[Any]]:
        kinds = ["primitive", "logical", "enum", "fixed"]
        if depth < 3:
            kinds += ["record", "array", "map", "list"] + (["union"] if union else [])
        kind = self._draw(st.sampled_from(kinds))
        made: tuple[Any, st.SearchStrategy[Any]] = getattr(self, f"_{kind}")(depth)
        return made

    def _name(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def _primitive(self, _depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        name = self._draw(st.sampled_from(sorted(_PRIMITIVES)))
        return name, _PRIMITIVES[name]

    def _logical(self, _depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        base, logical = self._draw(st.sampled_from(sorted(_LOGICAL)))
        extra = {"precision": 4, "scale": 2} if logical == "decimal" else {}
        return {"type": base, "logicalType": logical, **extra}, _LOGICAL[base, logical]

    def _enum(self, _depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        symbols = self._draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))
        return {"type": "enum", "name": self._name("E"), "symbols": symbols}, st.sampled_from(symbols)

    def _fixed(self, _depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        size = self._draw(st.integers(0, 8))
        return {"type": "fixed", "name": self._name("F"), "size": size}, st.binary(min_size=size, max_size=size)

    def _array(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        items, values = self.schema(depth + 1)
        return {"type": "array", "items": items}, st.lists(values, max_size=4)

    def _map(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        items, values = self.schema(depth + 1)
        return {"type": "map", "values": items}, st.dictionaries(st.text(max_size=5), values, max_size=3)

    def _union(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        # One branch beside null: which of several equal-looking branches fastavro picks is its own business.
        while (made := self.schema(depth + 1, union=False))[0] == "null":
            pass
        return ["null", made[0]], st.none() | made[1]

    def _record(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        names = self._draw(st.lists(_NAMES, max_size=4, unique=True))
        made = {name: self.schema(depth + 1) for name in names}
        fields = [{"name": name, "type": part} for name, (part, _) in made.items()]
        schema = {"type": "record", "name": self._name("R"), "fields": fields}
        return schema, st.fixed_dictionaries({name: values for name, (_, values) in made.items()})

    def _list(self, depth: int) -> tuple[Any, st.SearchStrategy[Any]]:
        name = self._name("L")
        items, values = self._primitive(depth)
        schema = {
            "type": "record",
            "name": name,
            "fields": [{"name": "head", "type": items}, {"name": "tail", "type": ["null", name]}],
        }
        ends = st.fixed_dictionaries({"head": values, "tail": st.none()})
        return schema, st.recursive(ends, lambda rest: st.fixed_dictionaries({"head": values, "tail": rest}), max_leaves=4)

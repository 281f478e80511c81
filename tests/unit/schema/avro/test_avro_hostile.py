"""Whatever comes in, the answer is a schema or a refusal: no other error, no endless work."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.schema.errors import InvalidSchema, NoColumns
from penstock.schema.formats import format_of
from penstock.schema.rules import GLUE_RULES
from tests.unit.schema.avro.avro_schemas import schemas

AVRO = format_of("AVRO")

WORDS = st.sampled_from(
    [
        "record",
        "enum",
        "fixed",
        "array",
        "map",
        "int",
        "double",
        "bytes",
        "string",
        "null",
        "R",
        "n.R",
        "a",
        "",
        "decimal",
        "A",
    ]
)
SCALARS = st.one_of(
    WORDS, st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(allow_nan=False, allow_infinity=False)
)
KEYS = st.sampled_from(
    ["type", "name", "namespace", "fields", "symbols", "items", "values", "size", "default", "aliases", "doc", "order",
     "logicalType", "precision", "scale"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)), max_leaves=25
)


def fields_of(kind: st.SearchStrategy) -> st.SearchStrategy:
    """A record whose field has the given type and any default: what gets deeper than random objects do."""
    return st.fixed_dictionaries(
        {"type": st.just("record"), "name": st.just("R"), "fields": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("abc"), "type": kind}, optional={"default": VALUES}), max_size=3
        )}
    )  # fmt: skip


def use(text: str) -> None:
    schema = AVRO.parse(text)
    assert AVRO.parse(schema.canonical).fingerprint == schema.fingerprint
    assert AVRO.readable(schema, schema, GLUE_RULES) == []
    with contextlib.suppress(NoColumns):
        AVRO.columns(schema)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=st.one_of(VALUES, fields_of(VALUES), fields_of(schemas()), fields_of(fields_of(schemas()))))
def test_any_json_is_a_schema_or_refused(value: Any) -> None:
    with contextlib.suppress(InvalidSchema):
        use(json.dumps(value))


@settings(max_examples=100, deadline=None)
@given(text=st.text())
def test_any_text_is_a_schema_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidSchema):
        use(text)


def test_names_are_bounded() -> None:
    def record(name: str, space: str = "n", field: str = "a", alias: str = "b", symbol: str = "S") -> str:
        inner = {"type": "enum", "name": "E", "symbols": [symbol]}
        fields = [{"name": field, "type": inner, "aliases": [alias]}]
        return json.dumps({"type": "record", "name": name, "namespace": space, "aliases": [alias], "fields": fields})

    long = "a" * 1_000
    assert AVRO.parse(record(long, long[:499] + "." + long[500:], long, long, long))
    for members in (
        {"name": long + "a"},
        {"space": f"a.{long}"},
        {"field": long + "a"},
        {"alias": long + "a"},
        {"symbol": long + "a"},
    ):
        with pytest.raises(InvalidSchema, match=r"up to 1,000|names joined by dots"):
            AVRO.parse(record(**{"name": "R", **members}))

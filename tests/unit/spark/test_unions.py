"""The union of all writers reads as each writer alone does: fastavro on one side, the union with an index on the other."""

import io
import json
from typing import Any

import fastavro
import pytest

from penstock.spark.decode.readers import HEADER, MARK, MARK_VALUE, framed, reader_definition
from penstock.spark.decode.unions import index, never_null, reader_of_union, union_of_writers

COLOUR = {"type": "enum", "name": "Colour", "namespace": "shop", "symbols": ["RED", "BLUE"]}
KEY = {"type": "fixed", "name": "Key", "size": 2}


def record(name: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


V1 = record("Order", field("id", "int"), field("colour", COLOUR), field("key", KEY), namespace="shop")
V2 = record(
    "Order",
    field("id", "long"),
    field("colour", {**COLOUR, "symbols": ["RED", "BLUE", "GREEN"]}),
    field("key", KEY),
    field("line", ["null", record("Line", field("price", "float"), field("key", ["null", "Key"]))]),
    namespace="shop",
)
V3 = record(
    "Order",
    field("number", "long", aliases=["id"]),
    field("colour", {**COLOUR, "symbols": ["RED", "BLUE", "GREEN"]}),
    field("key", KEY),
    field(
        "line",
        ["null", record("Row", field("price", "double"), field("key", ["null", "Key"], default=None), aliases=["Line"])],
        default=None,
    ),
    namespace="shop",
)
VALUES = [
    {"id": 1, "colour": "BLUE", "key": b"ab"},
    {"id": 2, "colour": "GREEN", "key": b"cd", "line": {"price": 0.5, "key": b"gh"}},
    {"number": 3, "colour": "RED", "key": b"ef", "line": {"price": 2.5, "key": None}},
]


def payload(definition: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(definition))), value)
    return out.getvalue()


def test_an_index_is_avros_long() -> None:
    for number in (0, 1, 63, 64, 1000, 8191, 8192):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, "long", number)
        assert index(number) == out.getvalue()


def test_every_version_is_read_as_by_its_own_schema() -> None:
    texts = [json.dumps(entry) for entry in (V1, V2, V3)]
    reader = reader_definition(texts[-1], texts)
    union = json.loads(union_of_writers(texts))
    for number, (definition, value) in enumerate(zip((V1, V2, V3), VALUES, strict=True)):
        data = bytes(HEADER) + payload(definition, value) + MARK
        # fastavro knows the same rules for aliases inside a record, but not for a union's branches: read the branch.
        alone: Any = fastavro.schemaless_reader(io.BytesIO(data), json.loads(framed(texts[number], header=True)))
        result: Any = fastavro.schemaless_reader(io.BytesIO(index(number) + data), fastavro.parse_schema(union))
        assert result == alone
        assert result["tail"] == MARK_VALUE
    assert "penstock1.shop.Line" in reader_of_union(reader, texts)
    fastavro.parse_schema(json.loads(reader_of_union(reader, texts)))


@pytest.mark.parametrize("definition", ['"string"', '{"type": "array", "items": "long"}'])
def test_a_schema_that_is_not_a_record_has_a_branch_too(definition: str) -> None:
    value: Any = "text" if definition == '"string"' else [1, 2]
    data = index(0) + bytes(HEADER) + payload(json.loads(definition), value) + MARK
    result: Any = fastavro.schemaless_reader(
        io.BytesIO(data), fastavro.parse_schema(json.loads(union_of_writers([definition])))
    )
    assert result["body"] == value
    assert never_null(definition) == frozenset()


def test_fields_that_cannot_be_null_are_known() -> None:
    assert never_null(json.dumps(V3)) == {"number", "colour", "key"}

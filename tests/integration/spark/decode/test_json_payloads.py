"""Documents of a registered JSON Schema on real Spark: what fits becomes a row, and nothing else becomes nulls."""

import zlib
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.integration.spark.decode.decoding import DECODE, Result, decode, glue, version

pytestmark = [
    pytest.mark.spark,
    # pyspark's collect() leaves its socket to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

V1: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "amount": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "text": {"type": "string"}},
            "required": ["x"],
        },
        "any": {},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "maybe": {"type": ["string", "null"]},
    },
    "required": ["id"],
}
V2 = {
    **V1,
    "properties": {**V1["properties"], "more": {"type": "boolean"}},
    "required": ["id", "more"],
    "additionalProperties": False,
}
FLAT: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "additionalProperties": False,
}

EMPTY = {"id": None, "name": None, "amount": None, "tags": None, "place": None, "any": None, "counts": None, "maybe": None}

DOCUMENTS: list[tuple[int, str, str | dict[str, object]]] = [
    (
        1,
        '{"id":1,"name":"x","amount":2,"tags":["a"],"place":{"x":1,"text":"q"},"any":[1,{"a":2}],"counts":{"k v":1},'
        '"maybe":null}',
        {
            "id": 1,
            "name": "x",
            "amount": 2.0,
            "tags": ["a"],
            "place": {"x": 1, "text": "q"},
            "any": '[1,{"a":2}]',
            "counts": {"k v": 1},
        },
    ),
    (1, ' {"id": 2}\n', {"id": 2}),
    (1, '{"id":"1"}', "UNDECODABLE"),
    (1, '{"id":1.5}', "UNDECODABLE"),
    (1, '{"id":99999999999999999999}', "UNDECODABLE"),
    (1, '{"name":"x"}', "UNDECODABLE"),
    (1, '{"id":1,"name":5}', "UNDECODABLE"),
    (1, '{"id":1,"name":{"a":1}}', "UNDECODABLE"),
    (1, '{"id":1,"tags":[5]}', "UNDECODABLE"),
    (1, '{"id":1,"tags":["a",null]}', "UNDECODABLE"),
    (1, '{"id":1,"place":{}}', "UNDECODABLE"),
    (1, '{"id":1,"place":{"x":1,"text":7}}', "UNDECODABLE"),
    (1, '{"id":1,"amount":"NaN"}', "UNDECODABLE"),
    (1, '{"id":1,"counts":{"a":"b"}}', "UNDECODABLE"),
    (1, '{"id":1,"n\\u0061me":7}', "UNDECODABLE"),
    (1, '{"id":1,"n\\u0061me":"7"}', {"id": 1, "name": "7"}),
    (1, '{"id":1,"unlisted":{"a":[1]}}', {"id": 1}),
    (1, '{"id":1,"any":5}', {"id": 1, "any": "5"}),
    (1, '{"id":1} x', "UNDECODABLE"),
    (1, '{"id":1},{"id":2}', "TRAILING_BYTES"),
    (1, '{"id":1}],"z":[5', "UNDECODABLE"),
    (1, "", "UNDECODABLE"),
    (1, "null", "UNDECODABLE"),
    (1, "[]", "UNDECODABLE"),
    (1, '{"id":1', "UNDECODABLE"),
    (2, '{"id":1,"more":true}', {"id": 1, "more": True}),
    (2, '{"id":1}', "UNDECODABLE"),
    (2, '{"id":1,"more":true,"unlisted":1}', "UNDECODABLE"),
    (
        2,
        '{"more":true,"id":1,"any":{"q":[1,{"r`":{"<z>":1}}]}}',
        {"id": 1, "more": True, "any": '{"q":[1,{"r`":{"<z>":1}}]}'},
    ),
    (3, '{"id":1}', "UNKNOWN_VERSION"),
]


def test_what_fits_its_schema_is_a_row_and_nothing_else_is(spark: SparkSession) -> None:
    versions = {number: version(number, text, "JSON") for number, text in ((1, V1), (2, V2), (3, V1))}
    values = [glue(versions[number], text.encode()) for number, text, _ in DOCUMENTS]
    results = decode(spark, [*values, glue(versions[1], b'{"id":1,"name":"\xff"}'), None], [versions[1], versions[2]])
    expected = [
        Result(
            number if number < 3 else None,
            want if isinstance(want, str) else None,
            None if isinstance(want, str) else {**EMPTY, "more": None, **want},
        )
        for number, _, want in DOCUMENTS
    ]
    assert dict(zip([text for _, text, _ in DOCUMENTS], results[: len(expected)], strict=True)) == dict(
        zip([text for _, text, _ in DOCUMENTS], expected, strict=True)
    )
    assert [result.reason for result in results[len(expected) :]] == ["UNDECODABLE", "TOMBSTONE"]


@pytest.mark.parametrize(
    ("policy", "reasons"),
    [("schema", [None, "UNDECODABLE"]), ("drop", [None, None]), ("refuse", ["UNDECODABLE", "UNDECODABLE"])],
)
def test_unlisted_properties_follow_the_declared_policy(spark: SparkSession, policy: str, reasons: list[str | None]) -> None:
    open_, closed = version(1, {**FLAT, "additionalProperties": True}, "JSON"), version(2, FLAT, "JSON")
    document = b'{"id":1,"name":"a","unlisted":"b"}'
    settings = replace(DECODE, extra_fields=policy)  # type: ignore[arg-type]
    results = decode(spark, [glue(open_, document), glue(closed, document)], [open_, closed], settings)
    assert [result.reason for result in results] == reasons


def test_zlib_frames_are_asked_for_and_inflated(spark: SparkSession) -> None:
    one = version(1, FLAT, "JSON")
    values = [
        glue(one, zlib.compress(b'{"id":7}'), compression=5),
        glue(one, b"damaged", compression=5),
        glue(one, b'{"id":8}'),
    ]
    assert [result.reason for result in decode(spark, values, [one])] == ["NEEDS_INFLATE", "NEEDS_INFLATE", None]
    results = decode(spark, values, [one], zlib=True)
    assert [result.reason for result in results] == [None, "UNDECODABLE", None]
    assert [result.row for result in results] == [{"id": 7, "name": None}, None, {"id": 8, "name": None}]

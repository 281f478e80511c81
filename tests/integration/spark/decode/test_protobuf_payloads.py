"""Protobuf payloads, written by Google's library and the serialisers, decoded on real Spark in Arrow batches."""

import struct
import zlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from pyspark.sql import SparkSession

from penstock.pipelines.decode import Decode
from penstock.schema.version import SchemaText
from penstock.serdes.protobuf.decoder import ProtobufSchema
from tests.integration.spark.decode.decoding import decode, glue, version

pytestmark = [
    pytest.mark.spark,
    # pyspark's collect() leaves its socket to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

V1 = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  int64 id = 1;
  string name = 2;
  optional int32 maybe = 3;
  uint64 big = 4;
  uint32 medium = 5;
  double price = 6;
  bool paid = 7;
  bytes raw = 8;
  Colour colour = 9;
  repeated string tags = 10;
  repeated Line lines = 11;
  map<string, int32> counts = 12;
  map<int32, Line> by_number = 13;
  google.protobuf.Timestamp at = 14;
  google.protobuf.StringValue wrapped = 15;
  Line one = 16;
  oneof choice { string text = 17; int32 number = 18; }
  float small = 19;
  enum Colour { NONE = 0; RED = 1; }
  message Line { string what = 1; repeated int32 sizes = 2; }
}
message Another { int64 id = 1; }
"""
V2 = V1.replace("int64 id = 1;\n  string name = 2;", "int64 number_of_order = 1;\n  string name = 2;\n  string extra = 30;")
V3 = V1.replace("double price = 6;", "string price = 6;")
MESSAGE: dict[str, Any] = {
    "id": 2**60,
    "name": "Zoë",
    "maybe": 0,
    "big": 2**64 - 1,
    "medium": 2**32 - 1,
    "price": 1.5,
    "paid": True,
    "raw": "AAE=",
    "colour": "RED",
    "tags": ["a", "b"],
    "lines": [{"what": "x", "sizes": [1, 2]}, {}],
    "counts": {"k": 5},
    "by_number": {7: {"what": "y"}},
    "at": "2026-01-02T03:04:05.678901Z",
    "wrapped": "w",
    "one": {"sizes": [3]},
    "number": 9,
    "small": 0.5,
}
ROW: dict[str, Any] = {
    **MESSAGE,
    "big": Decimal(2**64 - 1),
    "raw": b"\x00\x01",
    "lines": [{"what": "x", "sizes": [1, 2]}, {"what": "", "sizes": []}],
    "by_number": {7: {"what": "y", "sizes": []}},
    "at": datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    "one": {"what": "", "sizes": [3]},
    "text": None,
}
UNSET: dict[str, Any] = {
    "id": 0, "name": "", "maybe": None, "big": Decimal(0), "medium": 0, "price": 0.0, "paid": False, "raw": b"",
    "colour": "NONE", "tags": [], "lines": [], "counts": {}, "by_number": {}, "at": None, "wrapped": None, "one": None,
    "text": None, "number": None, "small": 0.0,
}  # fmt: skip
COMPILED = ProtobufSchema(SchemaText(definition=V1, data_format="PROTOBUF"))
AWS, CONFLUENT = COMPILED.index("shop.Order"), COMPILED.confluent_index("shop.Order")


def written(value: dict[str, Any], name: str = "shop.Order") -> bytes:
    """A message written by Google's library."""
    return ParseDict(value, COMPILED.message(name)(), descriptor_pool=COMPILED.pool).SerializeToString()


def shown(row: Any) -> Any:
    """A row with its times in UTC; Spark gives them to Python in the session's zone, without it."""
    return row and {**row, "at": row["at"] and row["at"].replace(tzinfo=UTC)}


def test_every_kind_of_field_arrives_and_what_is_no_message_does_not(spark: SparkSession) -> None:
    one, other = version(1, V1, "PROTOBUF"), version(2, V1, "PROTOBUF")
    full = written(MESSAGE)
    values = [
        glue(one, AWS + full),
        glue(one, AWS),
        glue(one, zlib.compress(AWS + full), compression=5),
        glue(one, AWS + b"\x48\x63"),  # colour 99, which the enum does not name
        glue(one, AWS + full[:-3]),
        glue(one, AWS + b"\x12\x01\xff"),  # a name that is not UTF-8
        glue(one, b""),
        glue(one, COMPILED.index("shop.Another") + written({"id": 1}, "shop.Another")),
        glue(other, AWS),
        None,
    ]
    results = decode(spark, values, [one], zlib=True)
    bad = ["UNDECODABLE", "UNDECODABLE", "UNDECODABLE", "UNDECODABLE", "UNKNOWN_VERSION", "TOMBSTONE"]
    assert [result.reason for result in results] == [None, None, None, None, *bad]
    assert shown(results[0].row) == shown(results[2].row) == ROW
    assert shown(results[1].row) == UNSET
    assert shown(results[3].row) == {**UNSET, "colour": "99"}


def test_a_reader_finds_fields_by_number_and_refuses_another_type(spark: SparkSession) -> None:
    one, two, three = (version(number, text, "PROTOBUF") for number, text in ((1, V1), (2, V2), (3, V3)))
    price = b"\x32" + struct.pack("B", 1) + b"9"  # field 6 as a string
    values = [glue(one, AWS + written({"id": 5, "name": "n"})), glue(two, AWS + b"\x08\x06\xf2\x01\x01e")]
    results = decode(spark, values, [one, two])
    assert [(row.row["number_of_order"], row.row["name"], row.row["extra"]) for row in results if row.row] == [
        (5, "n", ""),
        (6, "", "e"),
    ]
    values = [glue(one, AWS + written({"id": 5})), glue(three, AWS + b"\x08\x06"), glue(three, AWS + b"\x08\x06" + price)]
    settings = Decode(registry="tests", schema="things", reader=1)
    assert [result.reason for result in decode(spark, values, [one, three], settings)] == [None, None, "UNDECODABLE"]


def test_a_declared_message_is_read_from_every_kind_of_frame(spark: SparkSession) -> None:
    one = version(1, V1, "PROTOBUF")
    settings = Decode(registry="tests", schema="things", message="shop.Another", frames="confluent")
    payload, index = written({"id": 3}, "shop.Another"), COMPILED.confluent_index("shop.Another")
    guid = b"\x01" + one.id.bytes
    values = [guid + index + payload, payload, guid + CONFLUENT + payload, guid + b"\x02\x00" + payload, b"\x03" + guid]
    headers = [{}, {"other": b"x", "__value_schema_id": guid + index}, {}, {}, {"__value_schema_id": b"short"}]
    results = decode(spark, values, [one], settings, headers=headers)
    assert [result.row or result.reason for result in results] == [
        {"id": 3},
        {"id": 3},
        "UNDECODABLE",
        "UNDECODABLE",
        "WRONG_HEADER",
    ]
    bare = Decode(registry="tests", schema="things", message="shop.Another", frames="none")
    assert [result.row for result in decode(spark, [payload], [one], bare)] == [{"id": 3}]

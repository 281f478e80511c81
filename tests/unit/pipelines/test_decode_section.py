"""The section ``decode``: frames, readers, Confluent's registry, keys, and what contradicts itself."""

import json
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines import ConfluentRegistry, Decode, Key, Pipeline, parse_pipeline


def pipeline(decode: dict[str, Any]) -> Pipeline:
    text = f"""
name: orders
source: {{kafka: {{brokers: "b:9092", topic: orders, security_protocol: PLAINTEXT}}}}
decode: {json.dumps(decode)}
sink: {{parquet: {{location: "s3://lk/orders"}}}}
dead_letters: {{location: "s3://lk/dead"}}
checkpoint: "s3://lk/checkpoint"
"""
    return parse_pipeline(text, environment={})


def test_everything_that_can_be_declared() -> None:
    declared = {
        "registry": "shop",
        "schema": "order",
        "reader": 3,
        "frames": "confluent",
        "message": "shop.Order",
        "extra_fields": "refuse",
        "confluent": {"url": "https://r:1", "basic.auth.user.info": "u:p", "subject": "orders-value", "context": "team"},
        "key": {"registry": "shop", "schema": "order-key", "prefix": "k_", "frames": "none", "version": 2, "format": "AVRO"},
    }
    assert pipeline(declared).decode == Decode(
        registry="shop",
        schema="order",
        reader=3,
        frames="confluent",
        message="shop.Order",
        extra_fields="refuse",
        confluent=ConfluentRegistry(url="https://r:1", user_info="u:p", subject="orders-value", context="team"),
        key=Key(registry="shop", schema="order-key", prefix="k_", frames="none", version=2, format="avro"),
    )


def test_a_subject_or_inferred_documents_need_no_schema_of_glues() -> None:
    assert pipeline({"confluent": {"url": "http://r", "subject": "s"}}).decode.name == "of subject s"
    assert pipeline({"frames": "none", "format": "json"}).decode.infers


@pytest.mark.parametrize(
    ("decode", "message"),
    [
        ({}, "decode names no schema"),
        ({"registry": "shop"}, "decode names no schema"),
        ({"format": "json"}, "decode names no schema"),
        ({"frames": "none", "format": "avro"}, "decode names no schema"),
        ({"registry": "r", "schema": "s", "version": 1}, "decode.version is for records without a frame"),
        ({"registry": "r", "schema": "s", "frames": "hudi"}, "frames"),
        ({"registry": "r", "schema": "s", "format": "csv"}, "'format' is 'csv'"),
        ({"registry": "r", "schema": "s", "reader": "newest"}, "reader"),
        ({"registry": "r", "schema": "s", "key": {"registry": "r", "schema": "k", "key": {}}}, "key"),
        ({"registry": "r", "schema": "s", "key": {}}, "decode names no schema"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_line(decode: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        pipeline(decode)
    assert "<text>:4" in refused.value.message


def test_with_the_tables_reader_nothing_changes_the_tables() -> None:
    declared = pipeline({"registry": "r", "schema": "s", "reader": "table"})
    (sink,) = declared.sinks
    assert (sink.evolution.add, sink.evolution.widen, declared.drift.on_missing_field) == ("freeze", "freeze", "warn")

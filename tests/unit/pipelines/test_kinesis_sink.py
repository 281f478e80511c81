"""The kinesis section of a sink, and what is refused."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines.sinks.kinesis import KinesisSink, kinesis_sink
from penstock.settings.document import load_document


def sink(text: str) -> KinesisSink:
    section = load_document(text, origin="p.yaml", environment={})
    result = kinesis_sink(section, Path(), "out")
    section.done()
    return result


def test_a_stream_by_its_arn_with_a_schema() -> None:
    arn = "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"
    result = sink(
        f"streamARN: {arn}\npartitionKey: country\nvalue: {{registryName: shop, schemaName: order}}\naggregate: true"
    )
    assert (result.topic, result.partition_key, result.value.registry, result.value.schema, result.aggregate) == (
        "orders",
        "country",
        "shop",
        "order",
        True,
    )
    assert (result.description, result.guarantee, result.mode) == (
        "stream orders, schema shop/order",
        "at least once",
        "append",
    )
    assert sink("stream: s").description == "stream s, JSON"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("partition_key: k", "'stream' is missing"),
        ("stream: s\nvalue: {schema: order}", "'registry' and 'schema' go together"),
        ("stream: s\nvalue: {format: avro}", "values in AVRO need a registered schema"),
        ("stream: s\nmode: upsert\nkeys: [id]", "kinesis cannot be written in mode upsert"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        sink(text)

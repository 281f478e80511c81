"""The kinesis section of a sink, and what is refused."""

from pathlib import Path

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines.sinks.kinesis import KinesisSink, kinesis_sink
from penstock.settings.document import load_document


def sink(text: str) -> KinesisSink:
    section = load_document(text, origin="p.yaml", environment={})
    found = kinesis_sink(section, Path(), "out")
    section.done()
    return found


def test_a_stream_by_its_arn_with_a_schema() -> None:
    arn = "arn:aws:kinesis:eu-west-1:111122223333:stream/orders"
    found = sink(
        f"streamARN: {arn}\npartitionKey: country\nvalue: {{registryName: shop, schemaName: order}}\naggregate: true"
    )
    assert (found.topic, found.partition_key, found.value.registry, found.value.schema, found.aggregate) == (
        "orders",
        "country",
        "shop",
        "order",
        True,
    )
    assert (found.description, found.guarantee, found.mode) == (
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

"""Which changes of a declaration can go on from its checkpoint, and what is said of the others."""

import json

import pytest

from penstock.pipelines import parse_pipeline
from penstock.pipelines.identity import changes, identity

_BASE = """
name: orders
source: {kafka: {brokers: "b:9092", topics: [orders, returns], security_protocol: PLAINTEXT}}
decode: {registry: r, schema: s}
transform:
  steps:
    once: {deduplicate: {keys: [id], time: at, watermark: 1 hour}}
sinks:
  lake: {parquet: {location: s3://l/orders, partition_by: [day]}}
  db: {jdbc: {table: orders, url: "jdbc:postgresql://h/d", username: u, password: secret}}
dead_letters: {location: s3://l/dead}
checkpoint: s3://l/checkpoint
"""


def _identity(text: str) -> dict[str, object]:
    # As it comes back from the ledger.
    document: dict[str, object] = json.loads(json.dumps(identity(parse_pipeline(text, environment={}))))
    return document


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("topics: [orders, returns]", "topics: [orders]", "has offsets of returns, whose unread records would not be read"),
        (
            'kafka: {brokers: "b:9092", topics: [orders, returns], security_protocol: PLAINTEXT}',
            "kinesis: {stream: orders}",
            "the kind of source was kafka and is kinesis",
        ),
        ("partition_by: [day]", "partition_by: [country]", "partition_by of sink lake was day and is country"),
        ("  db: {jdbc", "  database: {jdbc", "the sink's name was db and is database"),
        ("keys: [id], time", "keys: [id, at], time", "step once was keys ['id'] and is keys ['id', 'at']"),
        (
            'db: {jdbc: {table: orders, url: "jdbc:postgresql://h/d", username: u, password: secret}}',
            "db: {parquet: {location: s3://l/db}}",
            "the kind of sink db was jdbc and is parquet",
        ),
    ],
)
def test_what_cannot_go_on_is_named_with_a_remedy(old: str, new: str, said: str) -> None:
    assert old in _BASE
    [change] = changes(_identity(_BASE), _identity(_BASE.replace(old, new)))
    assert not change.resumes
    assert said in str(change)
    assert change.remedy


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("topics: [orders, returns]", "topics: [orders, returns, more]", "more begins at the first record"),
        ("topics: [orders, returns]", "subscribePattern: ord.*", "one that is no longer read stops the stream"),
        ('"b:9092"', '"c:9092"', "must be the same Kafka cluster"),
        ("location: s3://l/dead", "location: s3://l/dead2", "earlier dead letters stay"),
        ("table: orders", "table: orders2", "earlier ones stay where they are"),
        ("checkpoint: s3://l/checkpoint", "checkpoint: s3://l/new", "--resume-from-ledger"),
        ("    once:", "    again: {deduplicate: {keys: [x], time: at, watermark: 1 hour}}\n    once:", "step again"),
        ("  lake:", "  more: {parquet: {location: s3://l/more}}\n  lake:", "sink more was not there"),
    ],
)
def test_what_goes_on_is_told(old: str, new: str, said: str) -> None:
    assert old in _BASE
    results = changes(_identity(_BASE), _identity(_BASE.replace(old, new)))
    assert [change.resumes for change in results] == [True]
    assert said in str(results[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("schema: s}", "schema: s, reader: 2}"),
        ("password: secret", "password: other"),
        ("name: orders\n", "name: orders\nbatchMaxRetries: 9\n"),
        ("  steps:", '  sql: "SELECT * FROM records"\n  steps:'),
    ],
)
def test_everything_else_may_change(old: str, new: str) -> None:
    assert old in _BASE
    assert changes(_identity(_BASE), _identity(_BASE.replace(old, new))) == []


def test_the_identity_holds_no_secret() -> None:
    assert "secret" not in json.dumps(_identity(_BASE))

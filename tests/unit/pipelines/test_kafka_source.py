"""The kafka section: topics, starts and logins under Penstock's, Glue's and Spark's names, and what is refused."""

import json

import pytest
import yaml

from penstock.errors import InvalidInput
from penstock.pipelines.sources.kafka import KafkaSource, kafka_source
from penstock.settings.document import load_document


def source(text: str, *, plain: bool = True) -> KafkaSource:
    settings = "brokers: b:1\n" + ("security_protocol: PLAINTEXT\n" if plain else "") + text
    section = load_document(settings, origin="p.yaml", environment={})
    result = kafka_source(section)
    section.done()
    return result


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("topic: orders", ("orders",)),
        ("topic: [orders, returns]", ("orders", "returns")),
        ("topicName: orders", ("orders",)),
        ("subscribe: 'orders, returns'", ("orders", "returns")),
    ],
)
def test_topics_are_a_word_or_a_list(text: str, topics: tuple[str, ...]) -> None:
    assert source(text).topics == topics


def test_patterns_and_assigned_partitions() -> None:
    assert source("subscribePattern: 'orders-.*'").topic_pattern == "orders-.*"
    assert source("subscribePattern: 'orders-.*'").description == "topics like orders-.*"
    assert source("assign: {orders: [1, 0]}").assign == {"orders": (0, 1)}
    assert source("""assign: '{"orders": [0]}'""").assign == {"orders": (0,)}


@pytest.mark.parametrize("text", ["{orders: {0: 23, 1: -2}}", """'{"orders": {"0": 23, "1": -2}}'"""])
def test_offsets_are_a_mapping_or_sparks_json(text: str) -> None:
    assert json.loads(source(f"topic: orders\nstartingOffsets: {text}").starting_offsets) == {"orders": {"0": 23, "1": -2}}


@pytest.mark.parametrize(
    "text", ["2024-05-01T08:00:00Z", "2024-05-01T10:00:00+02:00", "2024-05-01 08:00:00", "1714550400000"]
)
def test_times_are_iso_or_milliseconds(text: str) -> None:
    assert source(f"topic: o\nstartingTimestamp: {text}").starting_timestamp == 1714550400000
    times = source(f"topic: o\nstartingOffsetsByTimestamp: {{o: {{0: {text}}}}}").starting_offsets_by_timestamp
    assert times == {"o": {0: 1714550400000}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("min_partitions: 2", r"p\.yaml:1: 'topic' is missing"),
        ("topic: o\nassign: {o: [0]}", r"names its topics in 2 settings"),
        ("assign: {o: first}", r"p\.yaml:3: 'assign' is not a mapping"),
        ("topic: o\nclassification: avro", r"p\.yaml:4: Glue's option 'classification' is not used.*as 'decode' says"),
        ("topic: o\nconnectionName: c", r"p\.yaml:4: Glue's option 'connectionName' is not used.*Give brokers and secret"),
        ("topic: o\nstartingOffsets: first", r"p\.yaml:4: 'startingOffsets' is 'first'"),
        ("topic: o\nstartingTimestamp: soon", r"p\.yaml:4: 'startingTimestamp' has no usable time"),
        ("topic: o\nstartingOffsets: latest\nstartingTimestamp: 2024-05-01", r"exclude each other"),
        ("topic: o\nusername: u\npassword: p", r"Topic o: PLAINTEXT does not use credentials"),
        ("topic: o\ntruststore: ca.pem", r"Topic o: PLAINTEXT does not use certificates"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        source(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sasl_mechanism": "OAUTHBEARER", "username": "u", "password": "p"}, "goes with 'token_endpoint'"),
        ({"username": "u", "password": "p", "token_endpoint": "https://login/token"}, "goes with 'token_endpoint'"),
        ({"sasl_mechanism": "AWS_MSK_IAM", "secret": "s"}, "AWS_MSK_IAM logs in with AWS's own credentials"),
        ({"sasl_mechanism": "AWS_MSK_IAM", "security_protocol": "SASL_PLAINTEXT"}, "over SASL_SSL"),
        ({}, "SASL_SSL needs credentials"),
    ],
)
def test_logins_that_lack_something_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        source(yaml.safe_dump({"topic": "o", **settings}), plain=False)


def test_glues_numbers_and_headers() -> None:
    result = source(
        "topic: o\nincludeHeaders: true\npollTimeoutMs: 1000\nnumRetries: 0\nretryIntervalMs: 20\nminPartitions: 4"
    )
    assert (result.include_headers, result.poll_timeout_ms, result.num_retries, result.retry_interval_ms) == (
        True,
        1000,
        0,
        20,
    )
    assert result.min_partitions == 4

"""Options of Spark's Kafka source from a declared one: topics, starts, logins and certificates."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.pipelines import KafkaSource
from penstock.spark.sources.kafka import kafka_reads


def options(*, starting: str | None = None, **settings: Any) -> dict[str, str]:
    given: dict[str, Any] = {"brokers": "b:1", "security_protocol": "PLAINTEXT", **settings}
    if not {"topics", "topic_pattern", "assign"} & set(settings):
        given["topics"] = ("o",)
    return kafka_reads(KafkaSource(**given), lambda _: ("user", 'pass"word'), starting=starting).options()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"topics": ("a", "b")}, {"subscribe": "a,b"}),
        ({"topic_pattern": "a-.*"}, {"subscribePattern": "a-.*"}),
        ({"assign": {"a": (0, 1)}}, {"assign": '{"a": [0, 1]}'}),
        ({"starting_offsets": "latest"}, {"startingOffsets": "latest"}),
        ({"starting_timestamp": 5}, {"startingTimestamp": "5", "startingOffsetsByTimestampStrategy": "latest"}),
        ({"include_headers": True}, {"includeHeaders": "true"}),
        ({"num_retries": 0}, {"fetchOffset.numRetries": "0"}),
        ({"poll_timeout_ms": 7, "retry_interval_ms": 8}, {"kafkaConsumer.pollTimeoutMs": "7"}),
        ({"options": {"kafka.max.poll.records": "9"}}, {"kafka.max.poll.records": "9"}),
    ],
)
def test_settings_are_sparks_options(settings: dict[str, Any], expected: dict[str, str]) -> None:
    assert expected.items() <= options(**settings).items()


def test_only_one_start_is_given() -> None:
    assert "startingOffsets" not in options(starting_timestamp=5)
    by_time = options(starting_offsets_by_timestamp={"o": {0: 5}})
    assert json.loads(by_time["startingOffsetsByTimestamp"]) == {"o": {"0": 5}}
    assert "startingOffsets" not in by_time
    # The ledger's offsets count more than the declared time.
    resumed = options(starting='{"o":{"0":1}}', starting_timestamp=5)
    assert resumed["startingOffsets"] == '{"o":{"0":1}}'
    assert "startingTimestamp" not in resumed


def sasl(mechanism: str, **settings: Any) -> dict[str, str]:
    return options(security_protocol="SASL_SSL", sasl_mechanism=mechanism, **settings)


def test_plain_and_scram_quote_the_password() -> None:
    assert sasl("PLAIN", secret="s")["kafka.sasl.jaas.config"] == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="user" password="pass\\"word";'
    )
    scram = sasl("SCRAM-SHA-256", username="u", password="p")
    assert scram["kafka.sasl.mechanism"] == "SCRAM-SHA-256"
    assert "scram.ScramLoginModule" in scram["kafka.sasl.jaas.config"]


def test_oauth_takes_tokens_from_the_endpoint() -> None:
    results = sasl("OAUTHBEARER", secret="s", token_endpoint="https://login.example/token", scope="kafka")
    assert results["kafka.sasl.oauthbearer.token.endpoint.url"] == "https://login.example/token"
    assert results["kafka.sasl.login.callback.handler.class"].endswith("oauthbearer.OAuthBearerLoginCallbackHandler")
    assert 'clientId="user" clientSecret="pass\\"word" scope="kafka";' in results["kafka.sasl.jaas.config"]


def test_iam_assumes_the_role() -> None:
    results = sasl("AWS_MSK_IAM", role="arn:aws:iam::123456789012:role/reader")
    assert results["kafka.sasl.jaas.config"] == (
        'software.amazon.msk.auth.iam.IAMLoginModule required awsRoleArn="arn:aws:iam::123456789012:role/reader";'
    )
    assert results["kafka.sasl.client.callback.handler.class"] == "software.amazon.msk.auth.iam.IAMClientCallbackHandler"


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
_WHAT = "PRIVATE KEY"
KEY = f"-----BEGIN {_WHAT}-----\nBBBB\n-----END {_WHAT}-----"


def test_pem_content_goes_to_the_executors(tmp_path: Path) -> None:
    trust, client = tmp_path / "ca.pem", tmp_path / "client.pem"
    trust.write_text(f"# comment\n{CERTIFICATE}\n")
    client.write_text(f"{KEY}\n{CERTIFICATE}\n{CERTIFICATE}\n")
    results = options(security_protocol="SSL", truststore=str(trust), keystore=str(client), key_password="k")
    assert results["kafka.ssl.truststore.certificates"] == CERTIFICATE
    assert results["kafka.ssl.keystore.key"] == KEY
    assert results["kafka.ssl.keystore.certificate.chain"] == f"{CERTIFICATE}\n{CERTIFICATE}"
    assert results["kafka.ssl.key.password"] == "k"
    assert not any(name.endswith("location") for name in results)


def test_a_keystore_without_its_key_is_refused(tmp_path: Path) -> None:
    client = tmp_path / "client.pem"
    client.write_text(CERTIFICATE)
    with pytest.raises(InvalidInput, match=r"client\.pem lacks a private key"):
        options(security_protocol="SSL", keystore=str(client))


def test_other_stores_are_named_by_their_path(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")
    results = options(
        security_protocol="SSL", truststore=str(store), truststore_password="t", keystore="/on/executors.p12",
        keystore_password="k",
    )  # fmt: skip
    assert results["kafka.ssl.truststore.location"] == str(store)
    assert "kafka.ssl.truststore.type" not in results
    assert results["kafka.ssl.keystore.type"] == "PKCS12"
    assert (results["kafka.ssl.truststore.password"], results["kafka.ssl.keystore.password"]) == ("t", "k")

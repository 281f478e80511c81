"""From a mapping's access configurations to librdkafka's settings, secrets and MSK's brokers answered by a fake."""

import json
from typing import Any

import pytest

from penstock.errors import InvalidInput
from penstock.functions.kafka import access as kafka_access
from penstock.functions.model import KafkaAccess, KafkaSource

MSK = "arn:aws:kafka:eu-west-1:123456789012:cluster/c/1"
PEM = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"
SECRETS = {
    "login": {"username": "u", "password": "p"},
    "ca": {"certificate": PEM},
    "pair": {"certificate": PEM, "privateKey": PEM, "privateKeyPassword": "k"},
    "empty": {},
}


class FakeClient:
    """Secrets Manager and MSK."""

    class meta:  # noqa: N801
        endpoint_url = "fake"

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803
        return {"SecretString": json.dumps(SECRETS[SecretId])}

    def get_bootstrap_brokers(self, *, ClusterArn: str) -> dict[str, str]:  # noqa: N803
        assert ClusterArn == MSK
        return {"BootstrapBrokerStringSaslScram": "b:9096", "BootstrapBrokerStringTls": "b:9094"}


@pytest.fixture(autouse=True)
def _services(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("penstock.functions.kafka.access", "penstock.client.secrets"):
        monkeypatch.setattr(f"{module}.open_client", lambda *_args, **_named: FakeClient())


def settings(access: KafkaAccess, **source: Any) -> dict[str, Any]:
    config, _ = kafka_access.resolve_access(KafkaSource(topic="t", access=access, **{"brokers": "b.example:9092", **source}))
    return {name: value for name, value in config.items() if name.startswith(("sasl", "ssl", "security", "bootstrap"))}


def test_no_access_is_plain_text() -> None:
    assert settings(KafkaAccess()) == {"bootstrap.servers": "b.example:9092", "security.protocol": "PLAINTEXT"}


def test_a_login_goes_over_tls() -> None:
    assert settings(KafkaAccess(login="login", mechanism="SCRAM-SHA-256", ca="ca")) == {
        "bootstrap.servers": "b.example:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "u",
        "sasl.password": "p",
        "ssl.ca.pem": PEM,
    }


def test_a_certificate_is_a_login() -> None:
    assert settings(KafkaAccess(certificate="pair")) == {
        "bootstrap.servers": "b.example:9092",
        "security.protocol": "SSL",
        "ssl.certificate.pem": PEM,
        "ssl.key.pem": PEM,
        "ssl.key.password": "k",
    }


def test_the_brokers_of_an_msk_cluster_come_from_msk() -> None:
    login = settings(KafkaAccess(login="login"), brokers=None, arn=MSK)
    assert (login["bootstrap.servers"], login["security.protocol"]) == ("b:9096", "SASL_SSL")
    nobody = settings(KafkaAccess(), brokers=None, arn=MSK)
    assert (nobody["bootstrap.servers"], nobody["security.protocol"]) == ("b:9094", "SSL")


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (KafkaAccess(ca="empty"), "Secret empty has no PEM text in 'certificate'"),
        (KafkaAccess(certificate="ca"), "Secret ca has no PEM text in 'privateKey'"),
        (KafkaAccess(login="empty"), "Secret empty holds no broker credentials"),
    ],
)
def test_a_secret_that_holds_something_else_is_named(access: KafkaAccess, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        settings(access)

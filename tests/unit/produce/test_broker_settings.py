"""Which security protocol is chosen, and what librdkafka's errors become."""

from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from penstock.client.broker import BrokerSettings, broker_problem
from penstock.client.secrets import BrokerCredentials
from penstock.errors import AccessDenied, EnvironmentProblem, InvalidInput, PenstockError

LOGIN = BrokerCredentials(username="u", password="p")


def test_passwords_leave_the_machine_under_tls_only(tmp_path: Path) -> None:
    authority = tmp_path / "ca.pem"
    authority.write_text("")
    assert BrokerSettings(brokers="b1:9096,b2:9096", credentials=LOGIN).protocol() == "SASL_SSL"
    assert BrokerSettings(brokers="127.0.0.1:1,b2:9096", credentials=LOGIN).protocol() == "SASL_SSL"
    assert BrokerSettings(brokers="127.0.0.1:1, localhost:2", credentials=LOGIN).protocol() == "SASL_PLAINTEXT"
    assert BrokerSettings(brokers="localhost:2", credentials=LOGIN, ca_file=authority).protocol() == "SASL_SSL"
    assert BrokerSettings(brokers="b1:9092").protocol() == "PLAINTEXT"
    assert BrokerSettings(brokers="b1:9094", ca_file=authority).protocol() == "SSL"
    config = BrokerSettings(brokers="b1:9096", credentials=LOGIN, ca_file=authority).client_config()
    assert (config["sasl.mechanism"], config["sasl.username"], config["ssl.ca.location"]) == (
        "SCRAM-SHA-512",
        "u",
        str(authority),
    )


def test_settings_that_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="SASL_SSL needs credentials"):
        BrokerSettings(brokers="b:1", security="SASL_SSL").client_config()
    with pytest.raises(InvalidInput, match=r"none\.pem does not exist"):
        BrokerSettings(brokers="b:1", ca_file=tmp_path / "none.pem").client_config()


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (KafkaError._AUTHENTICATION, AccessDenied, "refused the login"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, AccessDenied, "may not write to topic t"),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, EnvironmentProblem, "Topic t does not exist at b:1"),
        (KafkaError.TOPIC_EXCEPTION, InvalidInput, "not a valid topic name"),
        (KafkaError._SSL, EnvironmentProblem, "TLS to b:1 failed"),
        (KafkaError.MSG_SIZE_TOO_LARGE, InvalidInput, "larger than topic t accepts"),
        (KafkaError._TRANSPORT, EnvironmentProblem, "b:1 does not answer"),
    ],
)
def test_errors_of_the_client(code: int, kind: type[PenstockError], says: str) -> None:
    penstock_error = broker_problem(KafkaError(code), "b:1", "t")
    assert type(penstock_error) is kind
    assert says in str(penstock_error)

"""Broker credentials out of a secret's text."""

import json
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from penstock.client import secrets
from penstock.errors import InvalidInput


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stubber:
    client = boto3.session.Session().client(
        "secretsmanager", region_name="us-east-1", aws_access_key_id="AKIATEST", aws_secret_access_key="secret"
    )
    opened: list[Any] = []

    def open_client(service: str, **options: Any) -> Any:
        opened.append(options)
        return client

    monkeypatch.setattr(secrets, "open_client", open_client)
    stubber = Stubber(client)
    stubber.opened = opened  # type: ignore[attr-defined]
    return stubber


def test_username_and_password(stub: Stubber) -> None:
    stub.add_response("get_secret_value", {"SecretString": json.dumps({"username": "u", "password": "p"})})
    arn = "arn:aws:secretsmanager:eu-west-1:000000000000:secret:AmazonMSK_x"
    with stub:
        broker_credentials = secrets.broker_credentials(arn)
    assert (broker_credentials.username, broker_credentials.password) == ("u", "p")
    assert "p'" not in repr(broker_credentials)
    assert stub.opened[0]["region"] == "eu-west-1"  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["{}", "plain", "[]", "5", '{"username": "u"}', '{"username": "u", "password": 5}'])
def test_anything_else_is_refused_without_showing_it(stub: Stubber, text: str) -> None:
    stub.add_response("get_secret_value", {"SecretString": text})
    with stub, pytest.raises(InvalidInput, match="Secret x holds no broker credentials") as caught:
        secrets.broker_credentials("x")
    assert "plain" not in str(caught.value)

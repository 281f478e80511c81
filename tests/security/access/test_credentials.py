"""Requests without credentials, or with wrong ones, are refused."""

import http.client
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from tests.security.targets import Target


def test_a_wrong_secret_is_refused(target: Target) -> None:
    with pytest.raises(ClientError) as refused:
        target.client("glue", secret_access_key="guessed").list_registries()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] in {400, 403}


@pytest.mark.parametrize("path", ["/subjects", "/config", "/schemas/ids/1", "/contexts"])
def test_confluents_registry_api_needs_credentials(target: Target, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(target.url).netloc, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 401

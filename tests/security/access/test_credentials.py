"""Requests without credentials, or with wrong ones, are refused."""

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError

from tests.security.targets import Keys, Target


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


def test_a_deactivated_key_stays_so_after_a_restart(tmp_path: Path) -> None:
    from penstock.testing.server import start_server

    for change in ("deactivate", "delete"):
        home = tmp_path / change
        server = start_server(home)
        key = Keys(access_key_id=server.access_key_id, secret_access_key=server.secret_access_key)
        iam = server.client("iam")
        if change == "delete":
            iam.delete_access_key(AccessKeyId=server.access_key_id)
        else:
            iam.update_access_key(AccessKeyId=server.access_key_id, Status="Inactive")
        server.stop()
        server = start_server(home, **key)
        try:
            with pytest.raises(ClientError) as refused:
                server.client("sts").get_caller_identity()
            assert refused.value.response["Error"]["Code"] == "InvalidClientTokenId"
            assert "was deactivated or deleted" in server.log
        finally:
            server.stop()

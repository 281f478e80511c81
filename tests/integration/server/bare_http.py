"""Requests over bare HTTP."""

import base64
import http.client
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSPreparedRequest, AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from penstock.testing.server import RunningServer

__all__ = ["get", "refusal", "signed"]


def signed(
    server: RunningServer, target: str, body: bytes = b"{}", *, at: datetime | None = None, region: str = "us-east-1"
) -> AWSPreparedRequest:
    made = AWSRequest("POST", f"{server.endpoint_url}/", {"X-Amz-Target": target}, body)
    now = (at or datetime.now(UTC)).replace(tzinfo=None)
    with patch("botocore.auth.get_current_datetime", return_value=now):
        SigV4Auth(Credentials(server.access_key_id, server.secret_access_key), "glue", region).add_auth(made)
    return made.prepare()


def refusal(call: Callable[[], Any]) -> tuple[str, str]:
    """Code and message of the error that ``call`` ends with."""
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value.response["Error"]["Code"], refused.value.response["Error"]["Message"]


def get(server: RunningServer, path: str) -> tuple[int, str]:
    where = urlsplit(server.endpoint_url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
    try:
        login = base64.b64encode(f"{server.access_key_id}:{server.secret_access_key}".encode()).decode()
        connection.request("GET", path, headers={"Authorization": f"Basic {login}"} if path == "/metrics" else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()

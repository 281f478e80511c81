"""Requests of S3, signed to be tampered with."""

import hashlib
from typing import Any

import requests
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.local.platform import Platform
from penstock.testing.clients import boto3_client

__all__ = ["client_of", "send", "signed"]


def client_of(platform: Platform, service: str = "s3", **overrides: Any) -> Any:
    config = platform.config
    keys = {"access_key_id": config.access_key_id, "secret_access_key": config.secret_access_key}
    url = config.s3_endpoint_url if service == "s3" else config.endpoint_url
    return boto3_client(service, url, config.region, **(keys | overrides))


def signed(platform: Platform, method: str, path: str, *, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    """A request as botocore signs it, ready to be tampered with."""
    config = platform.config
    request = AWSRequest(method=method, url=config.s3_endpoint_url + path, data=body, headers=headers or {})
    request.headers["x-amz-content-sha256"] = hashlib.sha256(body).hexdigest()
    S3SigV4Auth(Credentials(config.access_key_id, config.secret_access_key), "s3", config.region).add_auth(request)
    return request.prepare()


def send(prepared: Any, *, url: str | None = None, added: dict[str, str] | None = None, body: bytes | None = None) -> Any:
    headers = {**prepared.headers, **(added or {})}
    data = prepared.body if body is None else body
    return requests.request(prepared.method, url or prepared.url, headers=headers, data=data, timeout=30)

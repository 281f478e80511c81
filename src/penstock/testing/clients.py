"""boto3's clients for tests: of one endpoint, with given keys, and without retries."""

from typing import Any

import boto3
from botocore.config import Config

__all__ = ["boto3_client"]


def boto3_client(
    service: str, endpoint_url: str, region: str, *, access_key_id: str, secret_access_key: str, **overrides: Any
) -> Any:
    """Return a client of ``service`` (boto3's name) without retries; ``overrides`` are further arguments of boto3's."""
    options: dict[str, Any] = {
        "endpoint_url": endpoint_url,
        "region_name": region,
        "aws_access_key_id": access_key_id,
        "aws_secret_access_key": secret_access_key,
        "config": Config(retries={"total_max_attempts": 1}),
    }
    make_client: Any = boto3.session.Session().client
    return make_client(service, **(options | overrides))

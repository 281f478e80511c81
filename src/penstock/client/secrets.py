"""Broker credentials from Secrets Manager, as Amazon MSK stores them: a JSON object with username and password.

Source: https://docs.aws.amazon.com/msk/latest/developerguide/msk-password-tutorial.html
"""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.client.connection import open_client, translated_errors
from penstock.errors import InvalidInput
from penstock.names import parse_arn

if TYPE_CHECKING:
    from boto3.session import Session
    from types_boto3_secretsmanager import SecretsManagerClient

__all__ = ["BrokerCredentials", "broker_credentials", "secret_login", "secret_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCredentials:
    """Username and password for the broker; ``repr`` omits the password."""

    username: str
    password: str = field(repr=False)


def broker_credentials(
    secret_id: str,
    *,
    region: str | None = None,
    endpoint_url: str | None = None,
    session: "Session | None" = None,
    attempts: int = 5,
) -> BrokerCredentials:
    """Return the credentials in a secret, given by ARN or name. Without ``region``, an ARN's region is used.

    Raises :class:`~penstock.errors.NotFound` for an unknown secret and :class:`InvalidInput` if it has no credentials.
    """
    text = secret_text(secret_id, region=region, endpoint_url=endpoint_url, session=session, attempts=attempts)
    try:
        content = json.loads(text)
        username, password = content["username"], content["password"]
    except (ValueError, KeyError, TypeError):
        username = password = None
    if not isinstance(username, str) or not isinstance(password, str):
        raise InvalidInput(
            f"Secret {secret_id} holds no broker credentials.",
            remedy='Its value must be a JSON object with the strings "username" and "password".',
        )
    return BrokerCredentials(username=username, password=password)


def secret_login(secret_id: str) -> tuple[str, str]:
    """Return user name and password in a secret, as the environment reaches it. Raises as :func:`broker_credentials`."""
    login = broker_credentials(secret_id)
    return login.username, login.password


def secret_text(
    secret_id: str,
    *,
    region: str | None = None,
    endpoint_url: str | None = None,
    session: "Session | None" = None,
    attempts: int = 5,
) -> str:
    """Return a secret's text, given by ARN or name; empty if it holds bytes. Without ``region``, an ARN's region is used.

    Raises :class:`~penstock.errors.NotFound` for an unknown secret.
    """
    if region is None and secret_id.startswith("arn:"):
        region = parse_arn(secret_id).region or None
    client: SecretsManagerClient = open_client(
        "secretsmanager", region=region, endpoint_url=endpoint_url, session=session, attempts=attempts
    )
    with translated_errors(client, f"secret {secret_id}"):
        return client.get_secret_value(SecretId=secret_id).get("SecretString") or ""

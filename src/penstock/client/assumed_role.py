"""A session with the credentials of a role, which it renews with STS before they expire."""

from functools import partial
from typing import TYPE_CHECKING

import boto3
from botocore.credentials import (
    AssumeRoleCredentialFetcher,
    CredentialProvider,
    CredentialResolver,
    Credentials,
    DeferredRefreshableCredentials,
)
from botocore.exceptions import NoCredentialsError
from botocore.session import Session as CoreSession
from botocore.session import get_session

from penstock.client.connection import default_region

if TYPE_CHECKING:
    from boto3.session import Session

__all__ = ["assumed_role_session"]


class _Role(CredentialProvider):
    METHOD = "assume-role"

    def __init__(self, own: CoreSession, role_arn: str, session_name: str, endpoint_url: str | None) -> None:
        super().__init__()
        self._endpoint_url = endpoint_url
        self._own = own
        self._role_arn = role_arn
        self._session_name = session_name

    def load(self) -> Credentials:
        """Return the role's credentials. STS is called when they are first used."""
        source = self._own.get_credentials()
        if source is None:
            raise NoCredentialsError
        fetcher = AssumeRoleCredentialFetcher(
            client_creator=partial(self._own.create_client, endpoint_url=self._endpoint_url),
            source_credentials=source,
            role_arn=self._role_arn,
            extra_args={"RoleSessionName": self._session_name},
        )
        return DeferredRefreshableCredentials(method=self.METHOD, refresh_using=fetcher.fetch_credentials)


def assumed_role_session(
    role_arn: str, session_name: str, *, region: str | None = None, endpoint_url: str | None = None
) -> "Session":
    """Return a boto3 session that acts as ``role_arn``. The first call calls STS, with the usual credentials.

    ``endpoint_url`` is that of STS, if it is not the one of the region or the environment.
    """
    own, acting = get_session(), get_session()
    where = region or default_region()
    for session in (own, acting):
        if where:
            session.set_config_variable("region", where)
    role = _Role(own, role_arn, session_name, endpoint_url)
    acting.register_component("credential_provider", CredentialResolver(providers=[role]))
    return boto3.session.Session(botocore_session=acting)

"""A deployment as the attacks see it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypedDict

from penstock.testing.clients import boto3_client


class Keys(TypedDict):
    """An access key, as arguments of clients and servers: ``client(service, **keys)``."""

    access_key_id: str
    secret_access_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A deployment under attack: the URLs of its servers, and root's access key."""

    urls: tuple[str, ...]
    access_key_id: str
    secret_access_key: str = field(repr=False)
    region: str
    account: str

    @property
    def url(self) -> str:
        """The first server's URL."""
        return self.urls[0]

    def client(self, service: str, *, server: int = 0, **overrides: Any) -> Any:
        """A boto3 client of ``service``, as root unless ``access_key_id`` and ``secret_access_key`` say otherwise."""
        keys = {"access_key_id": self.access_key_id, "secret_access_key": self.secret_access_key, **overrides}
        return boto3_client(service, self.urls[server], self.region, **keys)


@contextmanager
def written_privately() -> Iterator[None]:
    """Give files that a test writes into a home Penstock's mode, readable only by the owner; start no process within."""
    former = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(former)

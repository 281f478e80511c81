"""Access keys, and the port that stores them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from penstock.errors import AlreadyExists, NotFound

__all__ = ["AccessKey", "AccessKeyExists", "AccessKeyNotFound", "AccessStore"]


class AccessKeyExists(AlreadyExists):
    """The access key id is taken."""

    aws_code = "EntityAlreadyExists"


class AccessKeyNotFound(NotFound):
    """There is no such access key."""

    aws_code = "NoSuchEntity"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A long-term credential: who ``access_key_id`` is, and the secret that its signatures are made with."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    account: str
    principal: str
    """ARN of the user the key belongs to."""
    created: datetime


class AccessStore(Protocol):
    """Access keys by id. Implementations keep secrets encrypted wherever they outlive the process."""

    def get(self, access_key_id: str) -> AccessKey | None:
        """The key, or None."""

    def add(self, key: AccessKey) -> None:
        """Store a new key; :class:`AccessKeyExists` where the id is taken."""

    def put(self, key: AccessKey) -> None:
        """Store a key, replacing one with the same id."""

    def remove(self, access_key_id: str) -> None:
        """Forget a key; :class:`AccessKeyNotFound` where there is none."""

    def list(self, account: str) -> list[AccessKey]:
        """The account's keys, by id."""

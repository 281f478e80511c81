"""A secret and its versions as one immutable value, and the port that stores it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

__all__ = ["Rotation", "Secret", "SecretStore", "SecretValue", "SecretVersion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValue:
    """What is kept secret: a text or bytes, one of the two; neither while a rotation has not put its value yet."""

    text: str | None = field(default=None, repr=False)
    binary: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretVersion:
    """One version; ``id`` is the client's request token, ``stages`` its staging labels."""

    id: str
    value: SecretValue = field(repr=False)
    stages: frozenset[str]
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """The function that makes a secret's next values, and when it last did."""

    function: str
    enabled: bool = True
    rotated: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret with all its versions, oldest first. ``revision`` counts changes: the precondition of the next one.

    ``deletion`` is when a secret marked for deletion goes for good. Times are aware UTC datetimes.
    """

    arn: str
    account: str
    name: str
    created: datetime
    changed: datetime
    revision: int = 0
    description: str | None = None
    kms_key_id: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    accessed: datetime | None = None
    deletion: datetime | None = None
    rotation: Rotation | None = None
    versions: Sequence[SecretVersion] = ()


class SecretStore(Protocol):
    """Secrets by ARN and by name. Implementations keep values encrypted wherever they outlive the process."""

    def by_arn(self, arn: str) -> Secret | None:
        """The secret with that ARN, or None."""

    def by_name(self, account: str, name: str) -> Secret | None:
        """The account's secret of that name, or None."""

    def list(self, account: str) -> Sequence[Secret]:
        """The account's secrets by creation time and ARN, oldest first; their versions without values."""

    def create(self, secret: Secret) -> None:
        """Store a new secret; ``SecretExists`` where account and name are taken."""

    def replace(self, secret: Secret) -> None:
        """Store ``secret`` with its revision raised by one; ``SecretChanged`` unless its own is still the stored one."""

    def purge(self, arn: str) -> None:
        """Forget a secret and its versions; nothing happens where there is none."""

"""A secret and its versions as one immutable value, and the port that stores it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

__all__ = ["Rotation", "Secret", "SecretStore", "SecretValue", "SecretVersion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretValue:
    """The secret value: a text or bytes; neither until a rotation has put its value."""

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
    """The function that makes a secret's next values, the time of the last rotation, and when the next ones are due.

    ``rules`` are Secrets Manager's RotationRules: ``AutomaticallyAfterDays`` or ``ScheduleExpression``, ``Duration``.
    """

    function: str
    enabled: bool = True
    rotated: datetime | None = None
    rules: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    """When the rules were set: the first rotation is due by them from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret with all its versions, oldest first. ``revision`` counts changes: the precondition of the next one.

    ``deletion`` is when a secret that is marked for deletion is deleted permanently. Times are aware UTC datetimes.
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
    policy: str | None = None
    """The resource policy's text."""
    versions: tuple[SecretVersion, ...] = ()


class SecretStore(Protocol):
    """Secrets by ARN and by name. Implementations encrypt values that outlive the process."""

    def by_arn(self, arn: str) -> Secret | None:
        """Return the secret with that ARN, or None."""

    def by_name(self, account: str, name: str) -> Secret | None:
        """Return the account's secret of that name, or None."""

    def list(self, account: str) -> Sequence[Secret]:
        """Return the account's secrets by creation time and ARN, oldest first; their versions have no values."""

    def policy(self, arn: str) -> str | None:
        """Return the resource policy of the secret with that ARN; None without one. Reads nothing else."""

    def create(self, secret: Secret) -> None:
        """Store a new secret. Raises ``SecretExists`` if the account has a secret of the name."""

    def replace(self, secret: Secret) -> None:
        """Store ``secret`` with its revision plus one. Raises ``SecretChanged`` unless its revision is the stored one."""

    def purge(self, arn: str) -> None:
        """Delete a secret and its versions, if it exists."""

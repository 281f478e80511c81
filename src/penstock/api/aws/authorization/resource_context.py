"""What the builders of resources share: the request's account and region, a lookup of stored names, ARNs."""

from collections.abc import Callable, Sequence
from typing import Protocol

from penstock.api.aws.protocol.values import Request
from penstock.names import arn
from penstock.registry.model import SchemaKey

__all__ = ["EVERYTHING", "Builder", "Lookup", "ResourceContext"]

EVERYTHING = ("*",)
"""The resource of actions without resource types."""


class Lookup(Protocol):
    """Looks up what a request does not contain; each method may read the store of the account."""

    def schema_of_version(self, version_id: str) -> SchemaKey | None:
        """Return the schema of a version."""

    def secret_arn(self, secret_id: str) -> str | None:
        """Return the full ARN of a secret, which ends in six random characters."""

    def entity_arn(self, entity_type: str, name: str) -> str | None:
        """Return the ARN of a ``user``, ``group``, ``role``, ``policy`` or ``profile``, which includes its path."""

    def boundary_of(self, entity_type: str, name: str) -> str | None:
        """Return the permissions boundary of a ``user`` or ``role``; None if it has none."""

    def tables_of(self, database: str) -> Sequence[str]:
        """Return the names of a database's tables; none if the database does not exist."""

    def schemas_of(self, registry: str) -> Sequence[str]:
        """Return the names of a registry's schemas, including soft-deleted ones."""

    def work_group_of(self, any_id: str) -> str | None:
        """Return the work group of a statement or named query by its id; None if there is none."""

    def crawled_database(self, crawler: str) -> str | None:
        """Return the database that a crawler writes to; None if the crawler does not exist."""


class ResourceContext:
    """The account and region that a request is for, a lookup of its stored names, and the caller's name if it is a user."""

    __slots__ = ("account", "lookup", "region", "user")

    def __init__(self, region: str, account: str, lookup: Lookup, *, user: str | None = None) -> None:
        self.user = user
        self.region = region
        self.account = account
        self.lookup = lookup

    def glue(self, resource: str) -> str:
        """Return a Glue ARN."""
        return arn("glue", self.region, self.account, resource)


Builder = Callable[[Request, ResourceContext], Sequence[str]]
"""Returns the ARNs that an operation is authorized on."""

"""Tags of registries and schemas."""

from collections.abc import Mapping, Sequence

from penstock.registry.identity import Identity
from penstock.registry.model import RegistryLimits
from penstock.registry.resources import existing_resource
from penstock.registry.store import RegistryStore
from penstock.tags import check_tags

__all__ = ["Tags"]


class Tags:
    """Tags by the ARN of a registry or schema; :class:`ResourceNotFound` for any other ARN."""

    def __init__(self, store: RegistryStore, identity: Identity, *, limits: RegistryLimits) -> None:
        self._store = store
        self._identity = identity
        self._limits = limits

    def owns(self, resource_arn: str) -> bool:
        """Whether the ARN is one of a registry or a schema, there or not."""
        return resource_arn.split(":", 5)[-1].startswith(("registry/", "schema/"))

    def get(self, resource_arn: str) -> Mapping[str, str]:
        """The tags."""
        return self._store.get_tags(self._resource(resource_arn))

    def add(self, resource_arn: str, tags: Mapping[str, str]) -> None:
        """Add or replace tags."""
        check_tags(tags, self._limits.tags)
        self._store.add_tags(self._resource(resource_arn), tags, limit=self._limits.tags)

    def remove(self, resource_arn: str, keys: Sequence[str]) -> None:
        """Remove tags; missing ones are no error."""
        self._store.remove_tags(self._resource(resource_arn), keys)

    def _resource(self, resource_arn: str) -> str:
        return existing_resource(self._store, self._identity, resource_arn)

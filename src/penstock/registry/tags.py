"""Tags of registries and schemas."""

from collections.abc import Mapping, Sequence

from penstock.registry.model import RegistryLimits
from penstock.registry.resources import Resources
from penstock.registry.store import TagStore
from penstock.tags import check_tags

__all__ = ["Tags"]


class Tags:
    """Tags by the ARN of a registry or schema; :class:`ResourceNotFound` for any other ARN."""

    def __init__(self, store: TagStore, resources: Resources, *, limits: RegistryLimits) -> None:
        self._store = store
        self._resources = resources
        self._limits = limits

    def owns(self, resource_arn: str) -> bool:
        """Return whether the ARN is a registry's or a schema's, whether it exists or not."""
        return resource_arn.split(":", 5)[-1].startswith(("registry/", "schema/"))

    def get(self, resource_arn: str) -> Mapping[str, str]:
        """The tags."""
        return self._store.get(self._resources.existing(resource_arn))

    def add(self, resource_arn: str, tags: Mapping[str, str]) -> None:
        """Add or replace tags."""
        check_tags(tags, self._limits.tags)
        self._store.add(self._resources.existing(resource_arn), tags, limit=self._limits.tags)

    def remove(self, resource_arn: str, keys: Sequence[str]) -> None:
        """Remove tags; missing ones are not an error."""
        self._store.remove(self._resources.existing(resource_arn), keys)

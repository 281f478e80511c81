"""Registries and schemas by their ARNs, and their tags."""

from collections.abc import Mapping, Sequence

from penstock.registry.errors import ResourceNotFound
from penstock.registry.identity import Identity, registry_resource, schema_resource
from penstock.registry.model import RegistryLimits
from penstock.registry.store import RegistriesStore, SchemaStore, TagStore
from penstock.tags import check_tags

__all__ = ["Resources", "Tags"]


class Resources:
    """Registries and schemas, which can have tags and resource policies."""

    def __init__(self, registries: RegistriesStore, schemas: SchemaStore, identity: Identity) -> None:
        self._registries = registries
        self._schemas = schemas
        self._identity = identity

    def existing(self, resource_arn: str) -> str:
        """The ARN's resource (``registry/NAME``, ``schema/REGISTRY/NAME``).

        :class:`ResourceNotFound` for one that does not exist.
        """
        target = self._identity.resource(resource_arn)
        if isinstance(target, str):
            if self._registries.get(target) is None:
                raise ResourceNotFound(resource_arn)
            return registry_resource(target)
        if self._schemas.get(target) is None:
            raise ResourceNotFound(resource_arn)
        return schema_resource(target)


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

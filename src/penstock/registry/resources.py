"""Look up registries and schemas by ARN."""

from penstock.registry.errors import ResourceNotFound
from penstock.registry.identity import Identity, registry_resource, schema_resource
from penstock.registry.store import RegistriesStore, SchemaStore

__all__ = ["Resources"]


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

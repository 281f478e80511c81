"""Registries and schemas by their ARNs, where they are there."""

from penstock.registry.errors import ResourceNotFound
from penstock.registry.identity import Identity, registry_resource, schema_resource
from penstock.registry.store import RegistryStore

__all__ = ["existing_resource"]


def existing_resource(store: RegistryStore, identity: Identity, resource_arn: str) -> str:
    """The ARN's resource (``registry/NAME``, ``schema/REGISTRY/NAME``); :class:`ResourceNotFound` where it is not stored."""
    target = identity.resource(resource_arn)
    if isinstance(target, str):
        if store.get_registry(target) is None:
            raise ResourceNotFound(resource_arn)
        return registry_resource(target)
    if store.get_schema(target) is None:
        raise ResourceNotFound(resource_arn)
    return schema_resource(target)

"""Resolve RegistryId, SchemaId and version references: names or ARNs to keys."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from penstock.errors import InvalidInput
from penstock.names import arn, parse_arn
from penstock.registry.errors import BadReference, ResourceNotFound
from penstock.registry.model import GLOBAL_SCOPE, SchemaKey
from penstock.schema.format import fingerprint

__all__ = [
    "DEFAULT_REGISTRY",
    "Identity",
    "canonical_contract",
    "config_scopes",
    "fingerprint_with",
    "new_version_id",
    "registry_resource",
    "schema_resource",
]

DEFAULT_REGISTRY = "default-registry"


def new_version_id() -> str:
    """An id for a new version: a UUID of version 7 (RFC 9562, section 5.7).

    It begins with the time in milliseconds, so that versions that are stored together are neighbours in the store's index.
    Random ids would each change a page of their own.
    """
    random = uuid4().int & ((1 << 76) - 1)  # its version lies above these bits, its variant is that of version 7 too
    return str(UUID(int=time.time_ns() // 1_000_000 << 80 | 7 << 76 | random))


def registry_resource(name: str) -> str:
    """The resource part of a registry's ARN."""
    return f"registry/{name}"


def schema_resource(key: SchemaKey) -> str:
    """The resource part of a schema's ARN."""
    return f"schema/{key.registry}/{key.name}"


def config_scopes(key: SchemaKey) -> tuple[str, str, str]:
    """Return the scopes whose configs apply to a schema, the nearest first: its name, its registry, the whole store."""
    return schema_resource(key), registry_resource(key.registry), GLOBAL_SCOPE


def canonical_contract(contract: Mapping[str, Any]) -> str | None:
    """Return metadata in Confluent's shape as canonical JSON, None if it is empty.

    ``tags`` are sets of texts by path, ``properties`` texts by name, ``sensitive`` is a set of properties' names.
    """
    members = {
        "tags": {path: sorted(set(names)) for path, names in (contract.get("tags") or {}).items()},
        "properties": dict(contract.get("properties") or {}),
        "sensitive": sorted(set(contract.get("sensitive") or ())),
    }
    present = {name: value for name, value in members.items() if value}
    return json.dumps(present, sort_keys=True, separators=(",", ":")) if present else None


def fingerprint_with(definition: str, contract: str | None) -> str:
    """Return the fingerprint of a version, which depends on its definition and its contract."""
    return definition if contract is None else fingerprint(f"{definition}\n{contract}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The account and region whose ARNs this registry owns."""

    region: str
    account: str

    def registry_arn(self, name: str) -> str:
        """``arn:aws:glue:REGION:ACCOUNT:registry/NAME``."""
        return arn("glue", self.region, self.account, registry_resource(name))

    def schema_arn(self, key: SchemaKey) -> str:
        """``arn:aws:glue:REGION:ACCOUNT:schema/REGISTRY/NAME``."""
        return arn("glue", self.region, self.account, schema_resource(key))

    def registry(self, *, name: str | None = None, registry_arn: str | None = None) -> str:
        """The registry's name from either; :class:`BadReference` for neither or both, as AWS has it."""
        if name and registry_arn:
            raise BadReference("One of registryName or registryArn has to be provided, both cannot be provided.")
        chosen = self._registry_of(registry_arn) if registry_arn else name
        if not chosen:
            raise BadReference("The RegistryId names no registry.", remedy="Give RegistryName or RegistryArn.")
        return chosen

    def schema(self, *, schema_arn: str | None = None, registry: str | None = None, name: str | None = None) -> SchemaKey:
        """The schema's key from its ARN or from both names; :class:`BadReference` otherwise, as AWS has it."""
        if schema_arn and (name or registry):
            raise BadReference(
                "One of (registryName and schemaName) or schemaArn has to be provided, both cannot be provided."
            )
        if schema_arn:
            parts = self._resource(schema_arn).split("/")
            if len(parts) != 3 or parts[0] != "schema" or not all(parts):
                raise BadReference(
                    f"'{schema_arn[:400]}' is not the ARN of a schema.", remedy="One ends in :schema/REGISTRY/NAME."
                )
            return SchemaKey(parts[1], parts[2])
        if not name or not registry:
            raise BadReference(
                "The SchemaId names no schema.", remedy="Give SchemaArn, or SchemaName together with RegistryName."
            )
        return SchemaKey(registry, name)

    def resource(self, resource_arn: str) -> str | SchemaKey:
        """A registry's name or a schema's key from an ARN; :class:`ResourceNotFound` for other kinds of resource."""
        resource_type = self._resource(resource_arn).partition("/")[0]
        if resource_type == "registry":
            return self._registry_of(resource_arn)
        if resource_type == "schema":
            return self.schema(schema_arn=resource_arn)
        raise ResourceNotFound(resource_arn)

    def is_catalog(self, resource_arn: str) -> bool:
        """Whether the ARN is the one of the account's data catalog."""
        return resource_arn == arn("glue", self.region, self.account, "catalog")

    def _registry_of(self, registry_arn: str) -> str:
        resource_type, _, name = self._resource(registry_arn).partition("/")
        if resource_type != "registry" or not name or "/" in name:
            raise BadReference(f"'{registry_arn[:400]}' is not the ARN of a registry.", remedy="One ends in :registry/NAME.")
        return name

    def _resource(self, text: str) -> str:
        try:
            parsed = parse_arn(text)
        except InvalidInput as error:
            raise BadReference(error.message, remedy=error.remedy) from None
        if parsed.service != "glue":
            raise BadReference(f"'{text[:400]}' is an ARN of {parsed.service}, not of glue.")
        if (parsed.region, parsed.account) != (self.region, self.account):
            raise ResourceNotFound(text)
        return parsed.resource

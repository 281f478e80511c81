"""Shared by the modules of registry operations: references in requests, times in responses."""

from datetime import UTC, datetime
from functools import lru_cache

from penstock.api.aws.protocol.values import Request
from penstock.registry.errors import BadReference
from penstock.registry.identity import Identity
from penstock.registry.model import SchemaKey

__all__ = ["number_of", "registry_of", "schema_of", "timestamp"]


@lru_cache(maxsize=4096)
def timestamp(time: datetime) -> str:
    """Return a time as the registry's operations write it: ISO 8601 with milliseconds, in UTC."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def registry_of(identity: Identity, registry_id: Request) -> str:
    """Return the name in a RegistryId."""
    return identity.registry(name=registry_id.get("RegistryName"), registry_arn=registry_id.get("RegistryArn"))


def schema_of(identity: Identity, schema_id: Request) -> SchemaKey:
    """Return the key in a SchemaId."""
    return identity.schema(
        schema_arn=schema_id.get("SchemaArn"), registry=schema_id.get("RegistryName"), name=schema_id.get("SchemaName")
    )


def number_of(version_number: Request) -> int | None:
    """Return the number in a SchemaVersionNumber, None for the latest; raise :class:`BadReference` for neither or both."""
    number, latest = version_number.get("VersionNumber"), version_number.get("LatestVersion", False)
    if (number is None) != bool(latest):
        raise BadReference(
            "SchemaVersionNumber has to be either a VersionNumber or LatestVersion true.", remedy="Give one of the two."
        )
    return None if number is None else int(number)

"""What the modules of registry operations share: references in requests, times and absent members in responses."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from penstock.registry.errors import BadReference
from penstock.registry.identity import Identity
from penstock.registry.model import SchemaKey

__all__ = ["Request", "number_of", "present", "registry_of", "schema_of", "timestamp"]

Request = Mapping[str, Any]


@lru_cache(maxsize=4096)
def timestamp(time: datetime) -> str:
    """A time as the registry's operations write it: ISO 8601 text with milliseconds, in UTC."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def present(**members: Any) -> dict[str, Any]:
    """A response without the members that are None."""
    return {name: value for name, value in members.items() if value is not None}


def registry_of(identity: Identity, registry_id: Request) -> str:
    """The name in a RegistryId."""
    return identity.registry(name=registry_id.get("RegistryName"), registry_arn=registry_id.get("RegistryArn"))


def schema_of(identity: Identity, schema_id: Request) -> SchemaKey:
    """The key in a SchemaId."""
    return identity.schema(
        schema_arn=schema_id.get("SchemaArn"), registry=schema_id.get("RegistryName"), name=schema_id.get("SchemaName")
    )


def number_of(wanted: Request) -> int | None:
    """The number in a SchemaVersionNumber, None for the latest; :class:`BadReference` for neither or both."""
    number, latest = wanted.get("VersionNumber"), wanted.get("LatestVersion", False)
    if (number is None) != bool(latest):
        raise BadReference(
            "SchemaVersionNumber has to be either a VersionNumber or LatestVersion true.", remedy="Give one of the two."
        )
    return None if number is None else int(number)

"""Finds one version of a registered schema by its number, ``latest`` or its version id."""

import re
from uuid import UUID

from penstock.client.registry import RegistryClient
from penstock.errors import InvalidInput, NotFound
from penstock.schema.version import SchemaVersion

__all__ = ["LATEST", "find_version", "names_version"]

LATEST = "latest"
_NUMBER = re.compile(r"[0-9]{1,9}")


def names_version(text: str) -> bool:
    """Return whether ``text`` has the form of a number, ``latest`` or a version id."""
    return text == LATEST or _NUMBER.fullmatch(text) is not None or _version_id(text) is not None


def find_version(
    client: RegistryClient, registry: str, schema: str, wanted: str = LATEST, *, available_only: bool = True
) -> SchemaVersion:
    """Return the version that ``wanted`` names; an id may be of any schema. ``latest`` is the highest AVAILABLE one.

    Without ``available_only`` a number may also be of a refused version. Raises :class:`NotFound` if it does not exist,
    :class:`InvalidInput` for a text of another form, and the registry's errors.
    """
    if wanted == LATEST:
        return client.latest(registry, schema)
    version_id = _version_id(wanted)
    if version_id is not None:
        return client.version(version_id)
    if _NUMBER.fullmatch(wanted) is None:
        raise InvalidInput(f"'{wanted[:100]}' is not a number, a version id or '{LATEST}'.")
    statuses = ("AVAILABLE",) if available_only else ("AVAILABLE", "PENDING", "FAILURE")
    ids_by_number = dict(client.numbers(registry, schema, statuses))
    version = ids_by_number.get(int(wanted))
    if version is None:
        numbers = ", ".join(map(str, ids_by_number)) or "none"
        which = "no AVAILABLE version" if available_only else "no version"
        raise NotFound(f"Schema {registry}/{schema} has {which} {wanted}.", remedy=f"It has: {numbers}.")
    return client.version(version)


def _version_id(text: str) -> UUID | None:
    try:
        return UUID(text) if "-" in text else None
    except ValueError:
        return None

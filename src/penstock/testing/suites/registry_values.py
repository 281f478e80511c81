"""What the suites of the registry's store put into it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import pytest

from penstock.registry.model import NewVersion, Registry, Schema, SchemaKey, Version
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode

__all__ = [
    "KEY",
    "LATER",
    "NOW",
    "StoredVersion",
    "WithVersion",
    "add",
    "added_versions",
    "present",
    "registry",
    "schema",
    "version",
]

T = TypeVar("T")

NOW = datetime(2026, 11, 21, 10, 30, 0, 123456, tzinfo=UTC)
LATER = datetime(2026, 11, 22, tzinfo=UTC)
KEY = SchemaKey("r", "s")


def present(value: T | None) -> T:
    """The value, which is there."""
    assert value is not None
    return value


def registry(name: str = "r") -> Registry:
    return Registry(name=name, description=None, created=NOW, updated=NOW)


def schema(key: SchemaKey = KEY, **more: int) -> Schema:
    mode = CompatibilityMode.BACKWARD
    return Schema(key=key, data_format="AVRO", compatibility=mode, description="d", created=NOW, updated=NOW, **more)


def version(number: int, key: SchemaKey = KEY, **more: Any) -> Version:
    values = {"status": "AVAILABLE", "fingerprint": f"{number:064}", "definition": f'"{number}"', **more}
    return Version(id=str(uuid4()), key=key, number=number, data_format="AVRO", created=NOW, **values)


def add(store: RegistryStore, new: Version, *, revision: int, replaces: str | None = None) -> Version | None:
    """Add a version alone: as stored, None, or what it is refused with raised."""
    [added] = store.versions.add([NewVersion(version=new, revision=revision, replaces=replaces)])
    if isinstance(added, Exception):
        raise added
    return added


def added_versions(store: RegistryStore, steps: Sequence[NewVersion]) -> list[Version]:
    """The versions that are added together; each of them is."""
    added = store.versions.add(steps)
    assert all(isinstance(item, Version) for item in added), added
    return [item for item in added if isinstance(item, Version)]


class StoredVersion(NamedTuple):
    """A store with registry ``r`` and schema ``s``, and a version that is in it."""

    store: RegistryStore
    version: Version


class WithVersion:
    """The fixture that most tests begin with; fixture ``store`` is an empty store."""

    @pytest.fixture
    def stored(self, store: RegistryStore) -> StoredVersion:
        """The store with registry ``r`` and schema ``s`` of one version, and that version."""
        store.registries.add(registry(), {}, limit=10)
        first = present(store.schemas.add(schema(latest=1, next_number=2), version(1), {}))
        return StoredVersion(store, first)

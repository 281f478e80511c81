"""The registry's store in memory, for tests and trials."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from threading import RLock
from typing import TypeVar

from penstock.registry.errors import (
    MetadataExists,
    RegistryExists,
    RegistryFull,
    RegistryNotFound,
    SchemaExists,
    VersionNotFound,
)
from penstock.registry.identity import registry_resource, schema_resource
from penstock.registry.model import AVAILABLE, Metadata, Registry, Schema, SchemaKey, Version, VersionHead

__all__ = ["MemoryRegistryStore"]

T = TypeVar("T")
_HEAD = tuple(field.name for field in fields(VersionHead))


class MemoryRegistryStore:
    """:class:`penstock.registry.store.RegistryStore` in dictionaries under one lock."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._registries: dict[str, Registry] = {}
        self._schemas: dict[SchemaKey, Schema] = {}
        self._versions: dict[SchemaKey, dict[int, Version]] = {}
        self._ids: dict[str, Version] = {}
        self._fingerprints: dict[tuple[SchemaKey, str], Version] = {}
        self._metadata: dict[str, list[Metadata]] = {}
        self._tags: dict[str, dict[str, str]] = {}

    def add_registry(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        with self._lock:
            if registry.name in self._registries:
                raise RegistryExists(registry.name)
            if len(self._registries) >= limit:
                raise RegistryFull(f"{limit} registries")
            self._registries[registry.name] = registry
            self._set_tags(registry_resource(registry.name), tags)

    def get_registry(self, name: str) -> Registry | None:
        return self._registries.get(name)

    def list_registries(self, after: str | None, count: int) -> Sequence[Registry]:
        with self._lock:
            return _behind(list(self._registries.values()), after, count, lambda registry: registry.name)

    def update_registry(self, name: str, description: str, now: datetime) -> bool:
        with self._lock:
            registry = self._registries.get(name)
            if registry is None:
                return False
            self._registries[name] = replace(registry, description=description, updated=now)
            return True

    def delete_registry(self, name: str) -> bool:
        with self._lock:
            for key in [key for key in self._schemas if key.registry == name]:
                self.delete_schema(key)
            self._tags.pop(registry_resource(name), None)
            return self._registries.pop(name, None) is not None

    def add_schema(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> None:
        with self._lock:
            if schema.key.registry not in self._registries:
                raise RegistryNotFound(schema.key.registry)
            if schema.key in self._schemas:
                raise SchemaExists(*schema.key)
            self._schemas[schema.key] = schema
            self._versions[schema.key] = {}
            self._set_tags(schema_resource(schema.key), tags)
            if first is not None:
                self._insert(first)

    def get_schema(self, key: SchemaKey) -> Schema | None:
        return self._schemas.get(key)

    def list_schemas(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        with self._lock:
            found = [schema for schema in self._schemas.values() if registry in (None, schema.key.registry)]
            return _behind(found, after, count, lambda schema: schema.key)

    def update_schema(self, schema: Schema) -> bool:
        with self._lock:
            stored = self._schemas.get(schema.key)
            if stored is None or stored.revision != schema.revision:
                return False
            self._schemas[schema.key] = replace(schema, revision=schema.revision + 1)
            return True

    def delete_schema(self, key: SchemaKey) -> bool:
        with self._lock:
            for version in list(self._versions.pop(key, {}).values()):
                self._forget(version)
            self._tags.pop(schema_resource(key), None)
            return self._schemas.pop(key, None) is not None

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> bool:
        with self._lock:
            schema = self._schemas.get(version.key)
            if schema is None or schema.revision != revision or version.number != schema.next_number:
                return False
            known = self._fingerprints.get((version.key, version.fingerprint))
            if known is not None and known.id != replaces:
                return False
            replaced = self._ids.get(replaces) if replaces else None
            if replaced is not None:
                del self._versions[version.key][replaced.number]
                self._forget(replaced)
            self._insert(version)
            latest = version.number if version.status == AVAILABLE else schema.latest
            self._schemas[version.key] = replace(
                schema, latest=latest, next_number=version.number + 1, revision=revision + 1, updated=version.created
            )
            return True

    def get_version(self, version_id: str) -> Version | None:
        return self._ids.get(version_id)

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        return self._versions.get(key, {}).get(number)

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        return self._fingerprints.get((key, fingerprint))

    def list_versions(self, key: SchemaKey, after: int | None, count: int) -> Sequence[VersionHead]:
        with self._lock:
            found = _behind(list(self._versions.get(key, {}).values()), after, count, lambda version: version.number)
        return [VersionHead(**{name: getattr(version, name) for name in _HEAD}) for version in found]

    def usable_versions(self, key: SchemaKey, first: int) -> Sequence[Version]:
        with self._lock:
            found = self._versions.get(key, {}).values()
            return sorted(
                (version for version in found if version.status == AVAILABLE and version.number >= first),
                key=lambda version: version.number,
            )

    def delete_versions(self, key: SchemaKey, numbers: range, now: datetime, *, revision: int) -> Sequence[int] | None:
        with self._lock:
            schema = self._schemas.get(key)
            if schema is None or schema.revision != revision:
                return None
            versions = self._versions[key]
            deleted = [number for number in numbers if number in versions]
            for number in deleted:
                self._forget(versions.pop(number))
            usable = [number for number, version in versions.items() if version.status == AVAILABLE]
            self._schemas[key] = replace(schema, latest=max(usable, default=None), revision=revision + 1, updated=now)
            return deleted

    def put_metadata(self, version_id: str, pair: Metadata, *, limit: int) -> None:
        with self._lock:
            if version_id not in self._ids:
                raise VersionNotFound(f"SchemaVersionId: {version_id}")
            pairs = self._metadata.setdefault(version_id, [])
            if any((known.key, known.value) == (pair.key, pair.value) for known in pairs):
                raise MetadataExists(version_id, pair.key, pair.value)
            if len(pairs) >= limit:
                raise RegistryFull(f"{limit} metadata pairs a schema version")
            pairs.append(pair)

    def list_metadata(self, version_id: str) -> Sequence[Metadata]:
        with self._lock:
            return sorted(self._metadata.get(version_id, ()), key=lambda pair: pair.key)

    def remove_metadata(self, version_id: str, key: str, value: str) -> bool:
        with self._lock:
            pairs = self._metadata.get(version_id, [])
            kept = [pair for pair in pairs if (pair.key, pair.value) != (key, value)]
            self._metadata[version_id] = kept
            return len(kept) < len(pairs)

    def get_tags(self, resource: str) -> Mapping[str, str]:
        with self._lock:
            return dict(sorted(self._tags.get(resource, {}).items()))

    def add_tags(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        with self._lock:
            merged = {**self._tags.get(resource, {}), **tags}
            if len(merged) > limit:
                raise RegistryFull(f"{limit} tags a resource")
            self._set_tags(resource, merged)

    def remove_tags(self, resource: str, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._tags.get(resource, {}).pop(key, None)

    def _set_tags(self, resource: str, tags: Mapping[str, str]) -> None:
        if tags:
            self._tags[resource] = dict(tags)

    def _insert(self, version: Version) -> None:
        self._versions[version.key][version.number] = version
        self._ids[version.id] = version
        self._fingerprints[version.key, version.fingerprint] = version

    def _forget(self, version: Version) -> None:
        del self._ids[version.id]
        del self._fingerprints[version.key, version.fingerprint]
        self._metadata.pop(version.id, None)


def _behind(rows: list[T], after: object, count: int, key: Callable[[T], object]) -> list[T]:
    # Any keys given here compare with each other: they are of one listing.
    ordered = sorted(rows, key=key)  # type: ignore[arg-type]
    start = 0 if after is None else bisect_right(ordered, after, key=key)  # type: ignore[call-overload]
    return list(ordered[start : start + count])

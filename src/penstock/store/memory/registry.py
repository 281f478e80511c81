"""The registry's store in memory, for tests and trials."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from datetime import UTC, datetime
from threading import RLock
from typing import TypeVar

from penstock.registry.audit import MAX_AUDIT_ENTRIES, AuditEntry, current_actor
from penstock.registry.errors import (
    MetadataExists,
    MissingReference,
    RegistryExists,
    RegistryFull,
    RegistryNotFound,
    SchemaExists,
    SchemaIdDiffers,
    SchemaIdTaken,
    VersionNotFound,
    VersionReferenced,
)
from penstock.registry.identity import config_scopes, registry_resource, schema_resource
from penstock.registry.model import (
    AVAILABLE,
    EffectiveSchema,
    Metadata,
    NewVersion,
    Registry,
    ResourcePolicy,
    Schema,
    SchemaKey,
    ScopeConfig,
    Version,
    VersionHead,
)
from penstock.registry.policies.scopes import prevailing_mode
from penstock.registry.store import add_alone

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
        self._policies: dict[str, ScopeConfig] = {}
        self._resource_policies: dict[str, ResourcePolicy] = {}
        self._schema_ids: dict[str, dict[tuple[str, str], int]] = {}
        self._last_schema_id = 0
        self._audit: deque[AuditEntry] = deque(maxlen=MAX_AUDIT_ENTRIES)

    def session(self) -> AbstractContextManager[None]:
        return nullcontext()

    def add_registry(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        with self._lock:
            if registry.name in self._registries:
                raise RegistryExists(registry.name)
            if len(self._registries) >= limit:
                raise RegistryFull(f"{limit} registries")
            self._registries[registry.name] = registry
            self._set_tags(registry_resource(registry.name), tags)
            self._record("CreateRegistry", registry_resource(registry.name), "created")

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
            self._record("UpdateRegistry", registry_resource(name), "description")
            return True

    def delete_registry(self, name: str) -> bool:
        with self._lock:
            mine = [version for version in self._ids.values() if version.key.registry == name]
            self._refuse_referenced(f"A schema of registry {name}", mine)
            for key in [key for key in self._schemas if key.registry == name]:
                self._remove_schema(key)
            self._tags.pop(registry_resource(name), None)
            gone = [scope for scope in self._policies if scope.startswith(f"schema/{name}/")]
            for scope in (registry_resource(name), *gone):
                self._policies.pop(scope, None)
            self._resource_policies.pop(registry_resource(name), None)
            self._schema_ids.pop(name, None)
            if self._registries.pop(name, None) is None:
                return False
            self._record("DeleteRegistry", registry_resource(name), "deleted with all it held")
            return True

    def add_schema(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> Version | None:
        with self._lock:
            if schema.key.registry not in self._registries:
                raise RegistryNotFound(schema.key.registry)
            if schema.key in self._schemas:
                raise SchemaExists(*schema.key)
            stored = None if first is None else self._numbered(first)
            self._schemas[schema.key] = schema
            self._versions[schema.key] = {}
            self._set_tags(schema_resource(schema.key), tags)
            outcome = f"{schema.data_format} {schema.compatibility or ''}".strip()
            self._record("CreateSchema", schema_resource(schema.key), outcome)
            if stored is not None:
                self._insert(stored)
                self._record_version(stored)
            return stored

    def get_schema(self, key: SchemaKey) -> Schema | None:
        return self._schemas.get(key)

    def get_effective_schema(self, key: SchemaKey) -> EffectiveSchema | None:
        with self._lock:
            schema, resource = self._schemas.get(key), schema_resource(key)
            if schema is None:
                return None
            said = [self._policies[scope] for scope in config_scopes(key) if scope in self._policies]
            return EffectiveSchema(
                schema=schema,
                mode=prevailing_mode(said),
                inherited=next((policy.compatibility for policy in said if policy.compatibility), None),
                tags=dict(self._tags.get(resource, {})),
            )

    def list_schemas(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        with self._lock:
            found = [schema for schema in self._schemas.values() if registry in (None, schema.key.registry)]
            return _behind(found, after, count, lambda schema: schema.key)

    def list_subjects(
        self, registry: str | None, prefix: str, after: SchemaKey | None, count: int, *, live: bool, deleted: bool
    ) -> Sequence[SchemaKey]:
        with self._lock:
            found = [
                key
                for key, versions in self._versions.items()
                if registry in (None, key.registry)
                and key.name.startswith(prefix)
                and any(
                    version.status == AVAILABLE and (live if version.deleted is None else deleted)
                    for version in versions.values()
                )
            ]
            return _behind(found, after, count, lambda key: key)

    def update_schema(self, schema: Schema) -> bool:
        with self._lock:
            stored = self._schemas.get(schema.key)
            if stored is None or stored.revision != schema.revision:
                return False
            self._schemas[schema.key] = replace(schema, revision=schema.revision + 1)
            outcome = f"compatibility {schema.compatibility or 'inherited'}, checkpoint {schema.checkpoint}"
            self._record("UpdateSchema", schema_resource(schema.key), outcome)
            return True

    def delete_schema(self, key: SchemaKey) -> bool:
        with self._lock:
            self._refuse_referenced(f"A version of schema {key.name}", list(self._versions.get(key, {}).values()))
            if not self._remove_schema(key):
                return False
            self._record("DeleteSchema", schema_resource(key), "deleted with all versions")
            return True

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> Version | None:
        with self._lock:
            schema = self._schemas.get(version.key)
            if schema is None or schema.revision != revision:
                return None
            known = self._fingerprints.get((version.key, version.fingerprint))
            holder = self._versions[version.key].get(version.number)
            if any(other is not None and other.id != replaces for other in (known, holder)):
                return None
            stored = self._numbered(version)
            replaced = self._ids.get(replaces) if replaces else None
            if replaced is not None:
                kept = self._metadata.get(replaced.id)
                del self._versions[version.key][replaced.number]
                self._forget(replaced)
                if kept and replaced.id == version.id:
                    self._metadata[version.id] = kept
            self._insert(stored)
            latest = max(version.number, schema.latest or 0) if _counts(version) else schema.latest
            self._schemas[version.key] = replace(
                schema,
                latest=latest,
                next_number=max(schema.next_number, version.number + 1),
                revision=revision + 1,
                updated=version.created,
            )
            self._record_version(stored)
            return stored

    def add_versions(self, wanted: Sequence[NewVersion]) -> Sequence[Version | None]:
        return [add_alone(self, step) for step in wanted]

    def get_version(self, version_id: str) -> Version | None:
        return self._ids.get(version_id)

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        return self._versions.get(key, {}).get(number)

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        return self._fingerprints.get((key, fingerprint))

    def get_version_with_schema_id(self, registry: str, schema_id: int) -> Version | None:
        with self._lock:
            usable = [version for version in self._versions_with_id(registry, schema_id) if version.status == AVAILABLE]
        return min(usable, key=lambda version: (version.deleted is not None, version.key, version.number), default=None)

    def highest_schema_id(self, registry: str) -> int:
        with self._lock:
            return max(self._schema_ids.get(registry, {}).values(), default=0)

    def list_versions_with_schema_id(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        with self._lock:
            registries = self._registries if registry is None else [registry]
            found = [version for name in registries for version in self._versions_with_id(name, schema_id)]
            return [_head(version) for version in sorted(found, key=_place)]

    def list_versions(
        self, key: SchemaKey, after: int | None, count: int, *, deleted: bool = False
    ) -> Sequence[VersionHead]:
        with self._lock:
            shown = [version for version in self._versions.get(key, {}).values() if deleted or version.deleted is None]
            return [_head(version) for version in _behind(shown, after, count, lambda version: version.number)]

    def scan_versions(
        self, registry: str | None, prefix: str, after: tuple[SchemaKey, int] | None, count: int, *, deleted: bool
    ) -> Sequence[Version]:
        with self._lock:
            found = [
                version
                for version in self._ids.values()
                if registry in (None, version.key.registry)
                and version.key.name.startswith(prefix)
                and version.status == AVAILABLE
                and (deleted or version.deleted is None)
            ]
            return _behind(found, after, count, _place)

    def referencing(self, version_id: str) -> Sequence[VersionHead]:
        with self._lock:
            version = self._ids.get(version_id)
            return [] if version is None else [_head(other) for other in self._referrers([version])]

    def delete_versions(
        self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int
    ) -> Sequence[int] | None:
        with self._lock:
            schema = self._schemas.get(key)
            if schema is None or schema.revision != revision:
                return None
            versions = self._versions[key]
            deleted = [number for number in numbers if number in versions]
            self._refuse_referenced(f"A version of schema {key.name}", [versions[number] for number in deleted])
            for number in deleted:
                self._forget(versions.pop(number))
            self._step_back(schema, now, "DeleteVersions", deleted)
            return deleted

    def soft_delete_versions(
        self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int
    ) -> Sequence[int] | None:
        with self._lock:
            schema = self._schemas.get(key)
            if schema is None or schema.revision != revision:
                return None
            versions = self._versions[key]
            marked = [number for number in numbers if number in versions and versions[number].deleted is None]
            chosen = [versions[number] for number in marked]
            alive = [version for version in self._referrers(chosen) if version.deleted is None]
            if alive:
                raise VersionReferenced(f"A version of schema {key.name}", [_head(version) for version in alive])
            for version in chosen:
                self._insert(replace(version, deleted=now))
            self._step_back(schema, now, "SoftDeleteVersions", marked)
            return marked

    def get_configs(self, scopes: Sequence[str]) -> Mapping[str, ScopeConfig]:
        with self._lock:
            return {scope: self._policies[scope] for scope in scopes if scope in self._policies}

    def list_configs(self, prefix: str) -> Sequence[ScopeConfig]:
        with self._lock:
            return [self._policies[scope] for scope in sorted(self._policies) if scope.startswith(prefix)]

    def change_config(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        with self._lock:
            before = self._policies.get(scope)
            nothing = ScopeConfig(scope=scope)
            after = change(before or nothing)
            if after == (before or nothing):
                return before
            self._policies.pop(scope, None)
            if after != nothing:
                self._policies[scope] = after
            self._record("DeletePolicy" if after == nothing else "PutPolicy", scope, str(after))
            return before

    def get_resource_policy(self, resource: str) -> ResourcePolicy | None:
        return self._resource_policies.get(resource)

    def list_resource_policies(self, after: str | None, count: int) -> Sequence[ResourcePolicy]:
        with self._lock:
            return _behind(list(self._resource_policies.values()), after, count, lambda policy: policy.resource)

    def put_resource_policy(self, policy: ResourcePolicy, check: Callable[[ResourcePolicy | None], None]) -> ResourcePolicy:
        with self._lock:
            stored = self._resource_policies.get(policy.resource)
            check(stored)
            if stored is not None:
                policy = replace(policy, created=stored.created)
            self._resource_policies[policy.resource] = policy
            self._record("PutResourcePolicy", policy.resource, f"hash {policy.hash}")
            return policy

    def delete_resource_policy(self, resource: str, check: Callable[[ResourcePolicy | None], None]) -> None:
        with self._lock:
            check(self._resource_policies.get(resource))
            self._resource_policies.pop(resource, None)
            self._record("DeleteResourcePolicy", resource, "deleted")

    def list_audit(self, before: int | None, count: int, *, resource: str | None) -> Sequence[AuditEntry]:
        with self._lock:
            found = [
                entry
                for entry in reversed(self._audit)
                if (before is None or entry.number < before) and resource in (None, entry.resource)
            ]
        return found[:count]

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
            self._record("PutMetadata", f"version/{version_id}", pair.key)

    def list_metadata(self, version_id: str) -> Sequence[Metadata]:
        with self._lock:
            return sorted(self._metadata.get(version_id, ()), key=lambda pair: pair.key)

    def remove_metadata(self, version_id: str, key: str, value: str) -> bool:
        with self._lock:
            pairs = self._metadata.get(version_id, [])
            kept = [pair for pair in pairs if (pair.key, pair.value) != (key, value)]
            self._metadata[version_id] = kept
            if len(kept) < len(pairs):
                self._record("RemoveMetadata", f"version/{version_id}", key)
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
            self._record("TagResource", resource, ", ".join(sorted(tags)))

    def remove_tags(self, resource: str, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._tags.get(resource, {}).pop(key, None)
            self._record("UntagResource", resource, ", ".join(sorted(keys)))

    def _set_tags(self, resource: str, tags: Mapping[str, str]) -> None:
        if tags:
            self._tags[resource] = dict(tags)

    def _record_version(self, version: Version) -> None:
        outcome = f"version {version.number} {version.status}, id {version.id}, schema id {version.schema_id}"
        self._record("RegisterVersion", schema_resource(version.key), outcome)

    def _record(self, operation: str, resource: str, outcome: str) -> None:
        actor = current_actor()
        number = self._audit[-1].number + 1 if self._audit else 1
        entry = AuditEntry(
            number=number,
            time=datetime.now(UTC),
            principal=actor.principal,
            client=actor.client,
            operation=operation,
            resource=resource,
            outcome=outcome,
        )
        self._audit.append(entry)

    def _remove_schema(self, key: SchemaKey) -> bool:
        for version in list(self._versions.pop(key, {}).values()):
            self._forget(version)
        self._tags.pop(schema_resource(key), None)
        self._policies.pop(schema_resource(key), None)
        self._resource_policies.pop(schema_resource(key), None)
        return self._schemas.pop(key, None) is not None

    def _step_back(self, schema: Schema, now: datetime, operation: str, numbers: Sequence[int]) -> None:
        shown = ", ".join(str(number) for number in numbers[:50]) or "none"
        self._record(operation, schema_resource(schema.key), f"versions {shown}")
        usable = [number for number, version in self._versions[schema.key].items() if _counts(version)]
        latest = max(usable, default=None)
        self._schemas[schema.key] = replace(schema, latest=latest, revision=schema.revision + 1, updated=now)

    def _numbered(self, version: Version) -> Version:
        """``version`` with the schema id of its definition in its registry."""
        registry, content = version.key.registry, (version.data_format, version.fingerprint)
        for reference in version.references:
            if reference.number not in self._versions.get(reference.key, {}):
                raise MissingReference(reference.name, reference.key, reference.number)
        schema_ids = self._schema_ids.setdefault(registry, {})
        known = schema_ids.get(content)
        if version.schema_id:
            if known not in (None, version.schema_id) and self._versions_with_id(registry, known):
                raise SchemaIdDiffers(registry, version.schema_id, known)
            holder = next((other for other, schema_id in schema_ids.items() if schema_id == version.schema_id), content)
            if holder != content:
                if self._versions_with_id(registry, version.schema_id):
                    raise SchemaIdTaken(registry, version.schema_id)
                del schema_ids[holder]
        schema_id = version.schema_id or known or self._last_schema_id + 1
        schema_ids[content] = schema_id
        self._last_schema_id = max(self._last_schema_id, schema_id)
        return replace(version, schema_id=schema_id)

    def _versions_with_id(self, registry: str, schema_id: int) -> list[Version]:
        return [
            version for version in self._ids.values() if (version.key.registry, version.schema_id) == (registry, schema_id)
        ]

    def _referrers(self, targets: Sequence[Version]) -> list[Version]:
        places = {(target.key, target.number) for target in targets}
        found = [
            version
            for version in self._ids.values()
            if any((reference.key, reference.number) in places for reference in version.references)
        ]
        return sorted(found, key=_place)

    def _refuse_referenced(self, what: str, targets: Sequence[Version]) -> None:
        own = {target.id for target in targets}
        others = [_head(version) for version in self._referrers(targets) if version.id not in own]
        if others:
            raise VersionReferenced(what, others)

    def _insert(self, version: Version) -> None:
        self._versions[version.key][version.number] = version
        self._ids[version.id] = version
        self._fingerprints[version.key, version.fingerprint] = version

    def _forget(self, version: Version) -> None:
        del self._ids[version.id]
        del self._fingerprints[version.key, version.fingerprint]
        self._metadata.pop(version.id, None)


def _head(version: Version) -> VersionHead:
    return VersionHead(**{name: getattr(version, name) for name in _HEAD})


def _place(version: Version) -> tuple[SchemaKey, int]:
    return version.key, version.number


def _counts(version: Version) -> bool:
    return version.status == AVAILABLE and version.deleted is None


def _behind(rows: list[T], after: object, count: int, key: Callable[[T], object]) -> list[T]:
    # Any keys given here compare with each other: they are of one listing.
    ordered = sorted(rows, key=key)  # type: ignore[arg-type]
    start = 0 if after is None else bisect_right(ordered, after, key=key)  # type: ignore[call-overload]
    return list(ordered[start : start + count])

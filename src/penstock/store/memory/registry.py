"""The registry's store in memory, for tests and trials."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime

from penstock.registry.audit import AuditEntry
from penstock.registry.errors import (
    MetadataExists,
    MissingReference,
    RegistryExists,
    RegistryFull,
    RegistryNotFound,
    SchemaExists,
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
from penstock.registry.store import Added
from penstock.store.memory.registry_rows import Rows, by_schema, counts, head_of, page_behind

__all__ = ["MemoryRegistryStore"]


class MemoryRegistryStore:
    """:class:`penstock.registry.store.RegistryStore` in dictionaries under one lock."""

    def __init__(self) -> None:
        rows = Rows()
        self.registries = MemoryRegistries(rows)
        self.schemas = MemorySchemas(rows)
        self.versions = MemoryVersions(rows)
        self.deletion = MemoryDeletion(rows)
        self.schema_ids = MemorySchemaIds(rows)
        self.configs = MemoryConfigs(rows)
        self.resource_policies = MemoryResourcePolicies(rows)
        self.metadata = MemoryMetadata(rows)
        self.tags = MemoryTags(rows)
        self.audit = MemoryAuditTrail(rows)


class MemoryRegistries:
    """:class:`penstock.registry.store.RegistriesStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        with self._rows.lock:
            if registry.name in self._rows.registries:
                raise RegistryExists(registry.name)
            if len(self._rows.registries) >= limit:
                raise RegistryFull(f"{limit} registries")
            self._rows.registries[registry.name] = registry
            self._rows.set_tags(registry_resource(registry.name), tags)
            self._rows.record("CreateRegistry", registry_resource(registry.name), "created")

    def get(self, name: str) -> Registry | None:
        return self._rows.registries.get(name)

    def list(self, after: str | None, count: int) -> Sequence[Registry]:
        with self._rows.lock:
            return page_behind(list(self._rows.registries.values()), after, count, lambda registry: registry.name)

    def update(self, name: str, description: str, now: datetime) -> bool:
        with self._rows.lock:
            registry = self._rows.registries.get(name)
            if registry is None:
                return False
            self._rows.registries[name] = replace(registry, description=description, updated=now)
            self._rows.record("UpdateRegistry", registry_resource(name), "description")
            return True

    def delete(self, name: str) -> bool:
        with self._rows.lock:
            mine = [version for version in self._rows.ids.values() if version.key.registry == name]
            self._rows.refuse_referenced(f"A schema of registry {name}", mine)
            for key in [key for key in self._rows.schemas if key.registry == name]:
                self._rows.remove_schema(key)
            self._rows.tags.pop(registry_resource(name), None)
            gone = [scope for scope in self._rows.configs if scope.startswith(f"schema/{name}/")]
            for scope in (registry_resource(name), *gone):
                self._rows.configs.pop(scope, None)
            self._rows.resource_policies.pop(registry_resource(name), None)
            self._rows.schema_ids.pop(name, None)
            if self._rows.registries.pop(name, None) is None:
                return False
            self._rows.record("DeleteRegistry", registry_resource(name), "deleted with all it held")
            return True


class MemorySchemas:
    """:class:`penstock.registry.store.SchemaStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> Version | None:
        with self._rows.lock:
            if schema.key.registry not in self._rows.registries:
                raise RegistryNotFound(schema.key.registry)
            if schema.key in self._rows.schemas:
                raise SchemaExists(*schema.key)
            stored = None if first is None else self._rows.with_schema_id(first)
            self._rows.schemas[schema.key] = schema
            self._rows.versions[schema.key] = {}
            self._rows.set_tags(schema_resource(schema.key), tags)
            outcome = f"{schema.data_format} {schema.compatibility or ''}".strip()
            self._rows.record("CreateSchema", schema_resource(schema.key), outcome)
            if stored is not None:
                self._rows.insert(stored)
                self._rows.record_version(stored)
            return stored

    def get(self, key: SchemaKey) -> Schema | None:
        return self._rows.schemas.get(key)

    def list(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        with self._rows.lock:
            found = [schema for schema in self._rows.schemas.values() if registry in (None, schema.key.registry)]
            return page_behind(found, after, count, lambda schema: schema.key)

    def list_subjects(
        self, registry: str | None, prefix: str, after: SchemaKey | None, count: int, *, live: bool, deleted: bool
    ) -> Sequence[SchemaKey]:
        with self._rows.lock:
            found = [
                key
                for key, versions in self._rows.versions.items()
                if registry in (None, key.registry)
                and key.name.startswith(prefix)
                and any(
                    version.status == AVAILABLE and (live if version.deleted is None else deleted)
                    for version in versions.values()
                )
            ]
            return page_behind(found, after, count, lambda key: key)

    def update(self, schema: Schema) -> bool:
        with self._rows.lock:
            stored = self._rows.schemas.get(schema.key)
            if stored is None or stored.revision != schema.revision:
                return False
            self._rows.schemas[schema.key] = replace(schema, revision=schema.revision + 1)
            outcome = f"compatibility {schema.compatibility or 'inherited'}, checkpoint {schema.checkpoint}"
            self._rows.record("UpdateSchema", schema_resource(schema.key), outcome)
            return True

    def delete(self, key: SchemaKey) -> bool:
        with self._rows.lock:
            self._rows.refuse_referenced(f"A version of schema {key.name}", list(self._rows.versions.get(key, {}).values()))
            if not self._rows.remove_schema(key):
                return False
            self._rows.record("DeleteSchema", schema_resource(key), "deleted with all versions")
            return True


class MemoryVersions:
    """:class:`penstock.registry.store.VersionStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def session(self) -> AbstractContextManager[None]:
        return nullcontext()

    def get_effective_schema(self, key: SchemaKey) -> EffectiveSchema | None:
        with self._rows.lock:
            schema, resource = self._rows.schemas.get(key), schema_resource(key)
            if schema is None:
                return None
            said = [self._rows.configs[scope] for scope in config_scopes(key) if scope in self._rows.configs]
            return EffectiveSchema(
                schema=schema,
                mode=prevailing_mode(said),
                inherited=next((config.compatibility for config in said if config.compatibility), None),
                tags=dict(self._rows.tags.get(resource, {})),
            )

    def add(self, new: Sequence[NewVersion]) -> Sequence[Added]:
        return [self._add(step) for step in new]

    def _add(self, step: NewVersion) -> Added:
        rows, version = self._rows, step.version
        with rows.lock:
            schema = rows.schemas.get(version.key)
            if schema is None or schema.revision != step.revision:
                return None
            known = rows.fingerprints.get((version.key, version.fingerprint))
            holder = rows.versions[version.key].get(version.number)
            if any(other is not None and other.id != step.replaces for other in (known, holder)):
                return None
            try:
                stored = rows.with_schema_id(version)
            except (SchemaIdTaken, MissingReference) as error:
                return error
            self._make_room(step)
            rows.insert(stored)
            latest = max(version.number, schema.latest or 0) if counts(version) else schema.latest
            rows.schemas[version.key] = replace(
                schema,
                latest=latest,
                next_number=max(schema.next_number, version.number + 1),
                revision=step.revision + 1,
                updated=version.created,
            )
            rows.record_version(stored, step.actor)
            return stored

    def _make_room(self, step: NewVersion) -> None:
        replaced = self._rows.ids.get(step.replaces) if step.replaces else None
        if replaced is None:
            return
        pairs = self._rows.metadata.get(replaced.id)
        del self._rows.versions[replaced.key][replaced.number]
        self._rows.forget(replaced)
        if pairs and replaced.id == step.version.id:
            self._rows.metadata[replaced.id] = pairs

    def get(self, version_id: str) -> Version | None:
        return self._rows.ids.get(version_id)

    def get_numbered(self, key: SchemaKey, number: int) -> Version | None:
        return self._rows.versions.get(key, {}).get(number)

    def find(self, key: SchemaKey, fingerprint: str) -> Version | None:
        return self._rows.fingerprints.get((key, fingerprint))

    def list(self, key: SchemaKey, after: int | None, count: int, *, deleted: bool = False) -> Sequence[VersionHead]:
        with self._rows.lock:
            shown = [version for version in self._rows.versions.get(key, {}).values() if deleted or version.deleted is None]
            return [head_of(version) for version in page_behind(shown, after, count, lambda version: version.number)]

    def scan(
        self, registry: str | None, prefix: str, after: tuple[SchemaKey, int] | None, count: int, *, deleted: bool
    ) -> Sequence[Version]:
        with self._rows.lock:
            found = [
                version
                for version in self._rows.ids.values()
                if registry in (None, version.key.registry)
                and version.key.name.startswith(prefix)
                and version.status == AVAILABLE
                and (deleted or version.deleted is None)
            ]
            return page_behind(found, after, count, by_schema)

    def list_referrers(self, version_id: str) -> Sequence[VersionHead]:
        with self._rows.lock:
            version = self._rows.ids.get(version_id)
            return [] if version is None else [head_of(other) for other in self._rows.referrers([version])]


class MemoryDeletion:
    """:class:`penstock.registry.store.DeletionStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int) -> Sequence[int] | None:
        with self._rows.lock:
            schema = self._rows.schemas.get(key)
            if schema is None or schema.revision != revision:
                return None
            versions = self._rows.versions[key]
            deleted = [number for number in numbers if number in versions]
            self._rows.refuse_referenced(f"A version of schema {key.name}", [versions[number] for number in deleted])
            for number in deleted:
                self._rows.forget(versions.pop(number))
            self._rows.step_back(schema, now, "DeleteVersions", deleted)
            return deleted

    def soft_delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int) -> Sequence[int] | None:
        with self._rows.lock:
            schema = self._rows.schemas.get(key)
            if schema is None or schema.revision != revision:
                return None
            versions = self._rows.versions[key]
            marked = [number for number in numbers if number in versions and versions[number].deleted is None]
            chosen = [versions[number] for number in marked]
            alive = [version for version in self._rows.referrers(chosen) if version.deleted is None]
            if alive:
                raise VersionReferenced(f"A version of schema {key.name}", [head_of(version) for version in alive])
            for version in chosen:
                self._rows.insert(replace(version, deleted=now))
            self._rows.step_back(schema, now, "SoftDeleteVersions", marked)
            return marked


class MemorySchemaIds:
    """:class:`penstock.registry.store.SchemaIdStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get_version(self, registry: str, schema_id: int) -> Version | None:
        with self._rows.lock:
            usable = [version for version in self._rows.versions_with_id(registry, schema_id) if version.status == AVAILABLE]
        return min(usable, key=lambda version: (version.deleted is not None, version.key, version.number), default=None)

    def list_versions(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        with self._rows.lock:
            registries = self._rows.registries if registry is None else [registry]
            found = [version for name in registries for version in self._rows.versions_with_id(name, schema_id)]
            return [head_of(version) for version in sorted(found, key=by_schema)]

    def highest(self, registry: str) -> int:
        with self._rows.lock:
            return max(self._rows.schema_ids.get(registry, {}).values(), default=0)


class MemoryConfigs:
    """:class:`penstock.registry.store.ConfigStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, scopes: Sequence[str]) -> Mapping[str, ScopeConfig]:
        with self._rows.lock:
            return {scope: self._rows.configs[scope] for scope in scopes if scope in self._rows.configs}

    def list(self, prefix: str) -> Sequence[ScopeConfig]:
        with self._rows.lock:
            return [self._rows.configs[scope] for scope in sorted(self._rows.configs) if scope.startswith(prefix)]

    def change(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        with self._rows.lock:
            before = self._rows.configs.get(scope)
            nothing = ScopeConfig(scope=scope)
            after = change(before or nothing)
            if after == (before or nothing):
                return before
            self._rows.configs.pop(scope, None)
            if after != nothing:
                self._rows.configs[scope] = after
            self._rows.record("DeletePolicy" if after == nothing else "PutPolicy", scope, str(after))
            return before


class MemoryResourcePolicies:
    """:class:`penstock.registry.store.ResourcePolicyStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, resource: str) -> ResourcePolicy | None:
        return self._rows.resource_policies.get(resource)

    def list(self, after: str | None, count: int) -> Sequence[ResourcePolicy]:
        with self._rows.lock:
            return page_behind(list(self._rows.resource_policies.values()), after, count, lambda policy: policy.resource)

    def put(self, policy: ResourcePolicy, check: Callable[[ResourcePolicy | None], None]) -> ResourcePolicy:
        with self._rows.lock:
            stored = self._rows.resource_policies.get(policy.resource)
            check(stored)
            if stored is not None:
                policy = replace(policy, created=stored.created)
            self._rows.resource_policies[policy.resource] = policy
            self._rows.record("PutResourcePolicy", policy.resource, f"hash {policy.hash}")
            return policy

    def delete(self, resource: str, check: Callable[[ResourcePolicy | None], None]) -> None:
        with self._rows.lock:
            check(self._rows.resource_policies.get(resource))
            self._rows.resource_policies.pop(resource, None)
            self._rows.record("DeleteResourcePolicy", resource, "deleted")


class MemoryMetadata:
    """:class:`penstock.registry.store.MetadataStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def put(self, version_id: str, pair: Metadata, *, limit: int) -> None:
        with self._rows.lock:
            if version_id not in self._rows.ids:
                raise VersionNotFound(f"SchemaVersionId: {version_id}")
            pairs = self._rows.metadata.setdefault(version_id, [])
            if any((known.key, known.value) == (pair.key, pair.value) for known in pairs):
                raise MetadataExists(version_id, pair.key, pair.value)
            if len(pairs) >= limit:
                raise RegistryFull(f"{limit} metadata pairs a schema version")
            pairs.append(pair)
            self._rows.record("PutMetadata", f"version/{version_id}", pair.key)

    def list(self, version_id: str) -> Sequence[Metadata]:
        with self._rows.lock:
            return sorted(self._rows.metadata.get(version_id, ()), key=lambda pair: pair.key)

    def remove(self, version_id: str, key: str, value: str) -> bool:
        with self._rows.lock:
            pairs = self._rows.metadata.get(version_id, [])
            left = [pair for pair in pairs if (pair.key, pair.value) != (key, value)]
            self._rows.metadata[version_id] = left
            if len(left) < len(pairs):
                self._rows.record("RemoveMetadata", f"version/{version_id}", key)
            return len(left) < len(pairs)


class MemoryTags:
    """:class:`penstock.registry.store.TagStore`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, resource: str) -> Mapping[str, str]:
        with self._rows.lock:
            return dict(sorted(self._rows.tags.get(resource, {}).items()))

    def add(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        with self._rows.lock:
            merged = {**self._rows.tags.get(resource, {}), **tags}
            if len(merged) > limit:
                raise RegistryFull(f"{limit} tags a resource")
            self._rows.set_tags(resource, merged)
            self._rows.record("TagResource", resource, ", ".join(sorted(tags)))

    def remove(self, resource: str, keys: Sequence[str]) -> None:
        with self._rows.lock:
            for key in keys:
                self._rows.tags.get(resource, {}).pop(key, None)
            self._rows.record("UntagResource", resource, ", ".join(sorted(keys)))


class MemoryAuditTrail:
    """:class:`penstock.registry.audit.AuditTrail`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def list(self, before: int | None, count: int, *, resource: str | None) -> Sequence[AuditEntry]:
        with self._rows.lock:
            found = [
                entry
                for entry in reversed(self._rows.audit)
                if (before is None or entry.number < before) and resource in (None, entry.resource)
            ]
        return found[:count]

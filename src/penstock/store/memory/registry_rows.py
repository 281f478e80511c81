"""The rows of the registry's store in memory, which its parts share under one lock."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from threading import RLock
from typing import TypeVar

from penstock.registry.audit import MAX_AUDIT_ENTRIES, Actor, AuditEntry, current_actor
from penstock.registry.errors import MissingReference, SchemaIdDiffers, SchemaIdTaken, VersionReferenced
from penstock.registry.identity import schema_resource
from penstock.registry.model import (
    AVAILABLE,
    Metadata,
    Registry,
    ResourcePolicy,
    Schema,
    SchemaKey,
    ScopeConfig,
    Version,
    VersionHead,
)

__all__ = ["Rows", "by_schema", "counts", "head_of", "page_behind"]

T = TypeVar("T")
_HEAD = tuple(member.name for member in fields(VersionHead))


@dataclass(slots=True, eq=False)
class Rows:
    """The stored rows. ``lock`` is held to write, to read more than one row, and to call a method."""

    lock: RLock = field(default_factory=RLock)
    registries: dict[str, Registry] = field(default_factory=dict)
    schemas: dict[SchemaKey, Schema] = field(default_factory=dict)
    versions: dict[SchemaKey, dict[int, Version]] = field(default_factory=dict)
    ids: dict[str, Version] = field(default_factory=dict)
    fingerprints: dict[tuple[SchemaKey, str], Version] = field(default_factory=dict)
    metadata: dict[str, list[Metadata]] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    configs: dict[str, ScopeConfig] = field(default_factory=dict)
    resource_policies: dict[str, ResourcePolicy] = field(default_factory=dict)
    schema_ids: dict[str, dict[tuple[str, str], int]] = field(default_factory=dict)
    """Schema ids by registry, then by the definition's format and fingerprint."""
    last_schema_id: int = 0
    audit: deque[AuditEntry] = field(default_factory=lambda: deque(maxlen=MAX_AUDIT_ENTRIES))

    def record(self, operation: str, resource: str, outcome: str, actor: Actor | None = None) -> None:
        """Record a change by the current actor, or by ``actor``."""
        actor = actor or current_actor()
        entry = AuditEntry(
            number=self.audit[-1].number + 1 if self.audit else 1,
            time=datetime.now(UTC),
            principal=actor.principal,
            client=actor.client,
            operation=operation,
            resource=resource,
            outcome=outcome,
        )
        self.audit.append(entry)

    def record_version(self, version: Version, actor: Actor | None = None) -> None:
        """Record a new version."""
        outcome = f"version {version.number} {version.status}, id {version.id}, schema id {version.schema_id}"
        self.record("RegisterVersion", schema_resource(version.key), outcome, actor)

    def set_tags(self, resource: str, tags: Mapping[str, str]) -> None:
        """Replace the tags of a resource, if there are any to set."""
        if tags:
            self.tags[resource] = dict(tags)

    def insert(self, version: Version) -> None:
        """Add or replace a version."""
        self.versions[version.key][version.number] = version
        self.ids[version.id] = version
        self.fingerprints[version.key, version.fingerprint] = version

    def forget(self, version: Version) -> None:
        """Remove a version with its metadata; only its number stays used."""
        del self.ids[version.id]
        del self.fingerprints[version.key, version.fingerprint]
        self.metadata.pop(version.id, None)

    def remove_schema(self, key: SchemaKey) -> bool:
        """Remove a schema with its versions; return whether it existed."""
        for version in list(self.versions.pop(key, {}).values()):
            self.forget(version)
        self.tags.pop(schema_resource(key), None)
        self.configs.pop(schema_resource(key), None)
        self.resource_policies.pop(schema_resource(key), None)
        return self.schemas.pop(key, None) is not None

    def step_back(self, schema: Schema, now: datetime, operation: str, numbers: Sequence[int]) -> None:
        """Move a schema to its next revision after a deletion of ``numbers``, and record it."""
        shown = ", ".join(str(number) for number in numbers[:50]) or "none"
        self.record(operation, schema_resource(schema.key), f"versions {shown}")
        usable = [number for number, version in self.versions[schema.key].items() if counts(version)]
        latest = max(usable, default=None)
        self.schemas[schema.key] = replace(schema, latest=latest, revision=schema.revision + 1, updated=now)

    def with_schema_id(self, version: Version) -> Version:
        """Return ``version`` with the schema id of its definition in its registry.

        :class:`SchemaIdTaken`, and :class:`MissingReference` if a reference is gone.
        """
        registry, content = version.key.registry, (version.data_format, version.fingerprint)
        for reference in version.references:
            if reference.number not in self.versions.get(reference.key, {}):
                raise MissingReference(reference.name, reference.key, reference.number)
        schema_ids = self.schema_ids.setdefault(registry, {})
        known = schema_ids.get(content)
        if version.schema_id:
            if known not in (None, version.schema_id) and self.versions_with_id(registry, known):
                raise SchemaIdDiffers(registry, version.schema_id, known)
            holder = next((other for other, schema_id in schema_ids.items() if schema_id == version.schema_id), content)
            if holder != content:
                if self.versions_with_id(registry, version.schema_id):
                    raise SchemaIdTaken(registry, version.schema_id)
                del schema_ids[holder]
        schema_id = version.schema_id or known or self.last_schema_id + 1
        schema_ids[content] = schema_id
        self.last_schema_id = max(self.last_schema_id, schema_id)
        return replace(version, schema_id=schema_id)

    def versions_with_id(self, registry: str, schema_id: int) -> list[Version]:
        """Return all versions with this schema id in a registry."""
        wanted = (registry, schema_id)
        return [version for version in self.ids.values() if (version.key.registry, version.schema_id) == wanted]

    def referrers(self, targets: Sequence[Version]) -> list[Version]:
        """Return the versions that refer to one of ``targets``, by schema and number."""
        places = {(target.key, target.number) for target in targets}
        found = [
            version
            for version in self.ids.values()
            if any((reference.key, reference.number) in places for reference in version.references)
        ]
        return sorted(found, key=by_schema)

    def refuse_referenced(self, what: str, targets: Sequence[Version]) -> None:
        """Raise :class:`VersionReferenced` if versions other than ``targets`` refer to them."""
        own = {target.id for target in targets}
        others = [head_of(version) for version in self.referrers(targets) if version.id not in own]
        if others:
            raise VersionReferenced(what, others)


def head_of(version: Version) -> VersionHead:
    """Return a version without its text."""
    return VersionHead(**{name: getattr(version, name) for name in _HEAD})


def by_schema(version: Version) -> tuple[SchemaKey, int]:
    """Return the key that sorts versions by schema and number."""
    return version.key, version.number


def counts(version: Version) -> bool:
    """Return whether a version can be a schema's latest."""
    return version.status == AVAILABLE and version.deleted is None


def page_behind(rows: Sequence[T], after: object, count: int, key: Callable[[T], object]) -> list[T]:
    """Return up to ``count`` rows after ``after``, in the order of their keys; None is before all."""
    # All keys of one listing are comparable.
    ordered = sorted(rows, key=key)  # type: ignore[arg-type]
    start = 0 if after is None else bisect_right(ordered, after, key=key)  # type: ignore[call-overload]
    return ordered[start : start + count]

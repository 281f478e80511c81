"""The port that keeps registries, schemas, versions, scope configs, resource policies, metadata and tags.

Every write is one atomic step that checks its own preconditions. Rows come back in the order of their keys. Where a method
does not say otherwise, versions that were soft-deleted are versions like all others.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from penstock.registry.audit import AuditTrail, acting
from penstock.registry.errors import MissingReference, SchemaIdTaken
from penstock.registry.model import (
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

__all__ = ["RegistryStore", "add_alone"]


class RegistryStore(AuditTrail, Protocol):
    """Every change is recorded, with its actor.

    Implementations run the behaviour suite in ``tests/unit/store/test_registry_store.py``.
    """

    def session(self) -> AbstractContextManager[None]:
        """Around calls that this thread makes one after the other, each a step of its own: they may share what is dear."""

    def add_registry(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        """Raise :class:`RegistryExists`, or :class:`RegistryFull` where there are ``limit`` already."""

    def get_registry(self, name: str) -> Registry | None:
        """The registry, or None."""

    def list_registries(self, after: str | None, count: int) -> Sequence[Registry]:
        """Up to ``count`` registries named behind ``after``."""

    def update_registry(self, name: str, description: str, now: datetime) -> bool:
        """Whether there was such a registry."""

    def delete_registry(self, name: str) -> bool:
        """Delete a registry with all it holds; whether there was one.

        :class:`VersionReferenced`, and nothing deleted, where another registry's versions refer to some of it.
        """

    def add_schema(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> Version | None:
        """Add a schema with its first version, given back with its schema id, as :meth:`add_version` does.

        :class:`RegistryNotFound`, :class:`SchemaExists`, :class:`SchemaIdTaken`, :class:`MissingReference`.
        """

    def get_schema(self, key: SchemaKey) -> Schema | None:
        """The schema, or None."""

    def get_effective_schema(self, key: SchemaKey) -> EffectiveSchema | None:
        """The schema with its tags and what the scope configs say, or None."""

    def list_schemas(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        """Up to ``count`` schemas behind ``after``, of one registry or of all."""

    def list_subjects(
        self, registry: str | None, prefix: str, after: SchemaKey | None, count: int, *, live: bool, deleted: bool
    ) -> Sequence[SchemaKey]:
        """Up to ``count`` schemas behind ``after`` whose names begin with ``prefix``.

        Those that have an AVAILABLE version (``live``), or one that was soft-deleted (``deleted``).
        """

    def update_schema(self, schema: Schema) -> bool:
        """Replace description, compatibility, checkpoint; False where ``schema.revision`` is not the stored one any more."""

    def delete_schema(self, key: SchemaKey) -> bool:
        """Delete a schema with its versions and its config; whether there was one.

        :class:`VersionReferenced`, and nothing deleted, where versions of other schemas refer to some of it.
        """

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> Version | None:
        """Add a version, in place of version id ``replaces`` where given, which may be its own.

        Its schema id is the one that its registry has for the definition, or the next; one that is not 0 is taken as it is.
        Gives the version as stored. None, and nothing written, where the schema's revision is not ``revision`` or its
        number or definition is there already. :class:`SchemaIdTaken` where the schema id is another definition's, or the
        definition has another; :class:`MissingReference` where one of its references is gone.
        """

    def add_versions(self, wanted: Sequence[NewVersion]) -> Sequence[Version | None]:
        """Add versions that replace none, of different schemas, in one transaction where the store can.

        Each as :meth:`add_version` gives it. None where that would, or raises, and also where all were undone because one
        of them could not be added: whoever asked adds those alone.
        """

    def get_version(self, version_id: str) -> Version | None:
        """By id, from memory where it was read before."""

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        """By number."""

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        """By the fingerprint of its canonical text."""

    def get_version_with_schema_id(self, registry: str, schema_id: int) -> Version | None:
        """An AVAILABLE one of the versions with this schema id, rather one that is not soft-deleted."""

    def highest_schema_id(self, registry: str) -> int:
        """The highest schema id that the registry has given a definition, be it gone or not; 0 before the first."""

    def list_versions_with_schema_id(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        """All with this schema id in one registry or in all, by schema and number."""

    def list_versions(
        self, key: SchemaKey, after: int | None, count: int, *, deleted: bool = False
    ) -> Sequence[VersionHead]:
        """Up to ``count`` versions numbered above ``after``; those soft-deleted only where ``deleted`` says so."""

    def scan_versions(
        self, registry: str | None, prefix: str, after: tuple[SchemaKey, int] | None, count: int, *, deleted: bool
    ) -> Sequence[Version]:
        """Up to ``count`` AVAILABLE versions, by schema and number, of schemas whose names begin with ``prefix``."""

    def referencing(self, version_id: str) -> Sequence[VersionHead]:
        """The versions that refer to this one, by schema and number."""

    def delete_versions(
        self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int
    ) -> Sequence[int] | None:
        """Delete what there is of ``numbers``: those deleted; None, and nothing done, where the revision is another.

        :class:`VersionReferenced`, and nothing deleted, where versions that stay refer to one of them.
        """

    def soft_delete_versions(
        self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int
    ) -> Sequence[int] | None:
        """Mark what there is of ``numbers`` as deleted, as :meth:`delete_versions` deletes it.

        :class:`VersionReferenced` only where a version that refers to one of them is not soft-deleted itself.
        """

    def get_configs(self, scopes: Sequence[str]) -> Mapping[str, ScopeConfig]:
        """Those of ``scopes`` that have one."""

    def list_configs(self, prefix: str) -> Sequence[ScopeConfig]:
        """Configs of scopes that begin with ``prefix``, by scope."""

    def change_config(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        """Put what ``change`` makes of a scope's config in its place, with no other writer in between.

        Gives the config as it was before, None where there was none; ``change`` gets one that says nothing then, and giving
        one that says nothing deletes it.
        """

    def get_resource_policy(self, resource: str) -> ResourcePolicy | None:
        """The policy of ``catalog``, ``registry/NAME`` or ``schema/REGISTRY/NAME``."""

    def list_resource_policies(self, after: str | None, count: int) -> Sequence[ResourcePolicy]:
        """Up to ``count`` policies of resources behind ``after``."""

    def put_resource_policy(self, policy: ResourcePolicy, check: Callable[[ResourcePolicy | None], None]) -> ResourcePolicy:
        """Add or replace a policy, which keeps its time of creation, unless ``check`` of the stored one raises."""

    def delete_resource_policy(self, resource: str, check: Callable[[ResourcePolicy | None], None]) -> None:
        """Delete a policy, unless ``check`` of the stored one raises."""

    def put_metadata(self, version_id: str, pair: Metadata, *, limit: int) -> None:
        """Raise :class:`VersionNotFound`, :class:`MetadataExists`, :class:`RegistryFull`."""

    def list_metadata(self, version_id: str) -> Sequence[Metadata]:
        """All pairs of a version, by key and then in the order they were put."""

    def remove_metadata(self, version_id: str, key: str, value: str) -> bool:
        """Whether there was such a pair."""

    def get_tags(self, resource: str) -> Mapping[str, str]:
        """Tags of a resource: ``registry/NAME`` or ``schema/REGISTRY/NAME``."""

    def add_tags(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        """Add or replace tags; :class:`RegistryFull` where there would be more than ``limit``."""

    def remove_tags(self, resource: str, keys: Sequence[str]) -> None:
        """Remove tags; missing ones are no error."""


class _AddsOne(Protocol):
    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> Version | None: ...


def add_alone(store: _AddsOne, step: NewVersion) -> Version | None:
    """One of :meth:`RegistryStore.add_versions` in a write of its own."""
    try:
        with acting(step.actor):
            return store.add_version(step.version, revision=step.revision, replaces=None)
    except (SchemaIdTaken, MissingReference):
        return None

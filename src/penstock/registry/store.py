"""The port that keeps the registry, one small protocol for each noun; a service takes the parts that it needs.

Every write is one atomic step that checks its own preconditions, and is recorded in the audit log with its actor. Rows come
back in the order of their keys. Unless a method says otherwise, soft-deleted versions are included.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from penstock.registry.audit import AuditTrail
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

__all__ = [
    "Added",
    "ConfigStore",
    "DeletionStore",
    "MetadataStore",
    "RegistriesStore",
    "RegistryStore",
    "ResourcePolicyStore",
    "SchemaIdStore",
    "SchemaStore",
    "TagStore",
    "VersionStore",
]

Added = Version | SchemaIdTaken | MissingReference | None
"""The result of a :class:`NewVersion`: see :meth:`VersionStore.add`."""


class RegistriesStore(Protocol):
    """Registries by name."""

    def add(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        """Raise :class:`RegistryExists`, or :class:`RegistryFull` if there are ``limit`` already."""

    def get(self, name: str) -> Registry | None:
        """The registry, or None."""

    def list(self, after: str | None, count: int) -> Sequence[Registry]:
        """Up to ``count`` registries with names after ``after``."""

    def update(self, name: str, description: str, now: datetime) -> bool:
        """Return whether the registry existed."""

    def delete(self, name: str) -> bool:
        """Delete a registry with its schemas; return whether it existed.

        :class:`VersionReferenced`, and nothing deleted, if versions of another registry refer to one of its versions.
        """


class SchemaStore(Protocol):
    """Schemas by key."""

    def add(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> Version | None:
        """Add a schema with its first version, which is returned with its schema id, as :meth:`VersionStore.add` does.

        :class:`RegistryNotFound`, :class:`SchemaExists`, :class:`SchemaIdTaken`, :class:`MissingReference`.
        """

    def get(self, key: SchemaKey) -> Schema | None:
        """The schema, or None."""

    def list(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        """Up to ``count`` schemas after ``after``, of one registry or of all."""

    def list_subjects(
        self, registry: str | None, prefix: str, after: SchemaKey | None, count: int, *, live: bool, deleted: bool
    ) -> Sequence[SchemaKey]:
        """Up to ``count`` schemas after ``after`` whose names begin with ``prefix``.

        Those that have an AVAILABLE version (``live``), or a soft-deleted one (``deleted``).
        """

    def update(self, schema: Schema) -> bool:
        """Replace description, compatibility, checkpoint; False if ``schema.revision`` is no longer the stored one."""

    def delete(self, key: SchemaKey) -> bool:
        """Delete a schema with its versions and its config; return whether it existed.

        :class:`VersionReferenced`, and nothing deleted, if versions of other schemas refer to one of its versions.
        """


class VersionStore(Protocol):
    """Schema versions: added and read."""

    def session(self) -> AbstractContextManager[None]:
        """A context in which successive calls of this thread, each a step of its own, may share a connection."""

    def get_effective_schema(self, key: SchemaKey) -> EffectiveSchema | None:
        """Return the schema with its tags and its effective configs, or None."""

    def add(self, new: Sequence[NewVersion]) -> Sequence[Added]:
        """Add versions of different schemas, in one transaction where the store can; return the result of each, in order.

        A result is the stored version with its schema id: the given one unless it is 0, else the one that the registry has
        for the definition, or the next free one. It is None, with nothing written, if the schema's revision has changed, if
        the number or the definition is there already, or if the whole transaction was undone because another version could
        not be added: the caller then adds those one by one. It is a :class:`SchemaIdTaken` (not raised) if the schema id
        belongs to another definition or the definition has another id, a :class:`MissingReference` if a reference is gone.
        """

    def get(self, version_id: str) -> Version | None:
        """By id; from memory if it was read before."""

    def get_numbered(self, key: SchemaKey, number: int) -> Version | None:
        """By number."""

    def find(self, key: SchemaKey, fingerprint: str) -> Version | None:
        """By the fingerprint of its canonical text."""

    def list(self, key: SchemaKey, after: int | None, count: int, *, deleted: bool = False) -> Sequence[VersionHead]:
        """Up to ``count`` versions numbered above ``after``; soft-deleted ones only with ``deleted``."""

    def scan(
        self, registry: str | None, prefix: str, after: tuple[SchemaKey, int] | None, count: int, *, deleted: bool
    ) -> Sequence[Version]:
        """Up to ``count`` AVAILABLE versions, by schema and number, of schemas whose names begin with ``prefix``."""

    def list_referrers(self, version_id: str) -> Sequence[VersionHead]:
        """The versions that refer to this one, by schema and number."""


class DeletionStore(Protocol):
    """Versions deleted, softly or for good."""

    def delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int) -> Sequence[int] | None:
        """Delete the versions among ``numbers`` that exist and return their numbers; None if the revision has changed.

        :class:`VersionReferenced`, and nothing deleted, if remaining versions refer to one of them.
        """

    def soft_delete(self, key: SchemaKey, numbers: Sequence[int], now: datetime, *, revision: int) -> Sequence[int] | None:
        """Like :meth:`delete`, but mark the versions as deleted.

        :class:`VersionReferenced` only if a version that refers to one of them is not soft-deleted itself.
        """


class SchemaIdStore(Protocol):
    """Versions by Confluent's global id, which a registry gives each definition."""

    def get_version(self, registry: str, schema_id: int) -> Version | None:
        """An AVAILABLE version with this schema id, if possible one that is not soft-deleted."""

    def list_versions(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        """All with this schema id in one registry or in all, by schema and number."""

    def highest(self, registry: str) -> int:
        """The highest schema id that the registry has assigned, also to deleted definitions; 0 before the first."""


class ConfigStore(Protocol):
    """Scope configs."""

    def get(self, scopes: Sequence[str]) -> Mapping[str, ScopeConfig]:
        """Those of ``scopes`` that have one."""

    def list(self, prefix: str) -> Sequence[ScopeConfig]:
        """Configs of scopes that begin with ``prefix``, by scope."""

    def change(self, scope: str, change: Callable[[ScopeConfig], ScopeConfig]) -> ScopeConfig | None:
        """Replace a scope's config with the result of ``change``; no other writer comes between.

        Returns the config before the change, None if there was none: then ``change`` receives an empty one. An empty
        result deletes the config.
        """


class ResourcePolicyStore(Protocol):
    """JSON policies by resource: ``catalog``, ``registry/NAME`` or ``schema/REGISTRY/NAME``."""

    def get(self, resource: str) -> ResourcePolicy | None:
        """The policy, or None."""

    def list(self, after: str | None, count: int) -> Sequence[ResourcePolicy]:
        """Up to ``count`` policies of resources after ``after``."""

    def put(self, policy: ResourcePolicy, check: Callable[[ResourcePolicy | None], None]) -> ResourcePolicy:
        """Add or replace a policy, which keeps its time of creation, unless ``check`` of the stored one raises."""

    def delete(self, resource: str, check: Callable[[ResourcePolicy | None], None]) -> None:
        """Delete a policy, unless ``check`` of the stored one raises."""


class MetadataStore(Protocol):
    """Key and value pairs of versions."""

    def put(self, version_id: str, pair: Metadata, *, limit: int) -> None:
        """Raise :class:`VersionNotFound`, :class:`MetadataExists`, :class:`RegistryFull`."""

    def list(self, version_id: str) -> Sequence[Metadata]:
        """All pairs of a version, by key and then in the order they were put."""

    def remove(self, version_id: str, key: str, value: str) -> bool:
        """Return whether the pair existed."""


class TagStore(Protocol):
    """Tags by resource: ``registry/NAME`` or ``schema/REGISTRY/NAME``."""

    def get(self, resource: str) -> Mapping[str, str]:
        """The tags."""

    def add(self, resource: str, tags: Mapping[str, str], *, limit: int) -> None:
        """Add or replace tags; :class:`RegistryFull` if there would be more than ``limit``."""

    def remove(self, resource: str, keys: Sequence[str]) -> None:
        """Remove tags; missing ones are not an error."""


class RegistryStore(Protocol):
    """All parts, over one set of rows.

    Implementations pass :class:`penstock.testing.suites.RegistryStoreSuite`.
    """

    @property
    def registries(self) -> RegistriesStore: ...
    @property
    def schemas(self) -> SchemaStore: ...
    @property
    def versions(self) -> VersionStore: ...
    @property
    def deletion(self) -> DeletionStore: ...
    @property
    def schema_ids(self) -> SchemaIdStore: ...
    @property
    def configs(self) -> ConfigStore: ...
    @property
    def resource_policies(self) -> ResourcePolicyStore: ...
    @property
    def metadata(self) -> MetadataStore: ...
    @property
    def tags(self) -> TagStore: ...
    @property
    def audit(self) -> AuditTrail: ...

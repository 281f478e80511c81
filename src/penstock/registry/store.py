"""The port that keeps registries, schemas, versions, metadata and tags.

Every write is one atomic step that checks its own preconditions. Rows come back in the order of their keys.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from penstock.registry.model import Metadata, Registry, Schema, SchemaKey, Version, VersionHead

__all__ = ["RegistryStore"]


class RegistryStore(Protocol):
    """Implementations run the behaviour suite in ``tests/unit/store/test_registry_store.py``."""

    def add_registry(self, registry: Registry, tags: Mapping[str, str], *, limit: int) -> None:
        """Raise :class:`RegistryExists`, or :class:`RegistryFull` where there are ``limit`` already."""

    def get_registry(self, name: str) -> Registry | None:
        """The registry, or None."""

    def list_registries(self, after: str | None, count: int) -> Sequence[Registry]:
        """Up to ``count`` registries named behind ``after``."""

    def update_registry(self, name: str, description: str, now: datetime) -> bool:
        """Whether there was such a registry."""

    def delete_registry(self, name: str) -> bool:
        """Delete a registry with all it holds; whether there was one."""

    def add_schema(self, schema: Schema, first: Version | None, tags: Mapping[str, str]) -> None:
        """Add a schema with its first version; :class:`RegistryNotFound`, :class:`SchemaExists`."""

    def get_schema(self, key: SchemaKey) -> Schema | None:
        """The schema, or None."""

    def list_schemas(self, registry: str | None, after: SchemaKey | None, count: int) -> Sequence[Schema]:
        """Up to ``count`` schemas behind ``after``, of one registry or of all."""

    def update_schema(self, schema: Schema) -> bool:
        """Replace description, compatibility, checkpoint; False where ``schema.revision`` is not the stored one any more."""

    def delete_schema(self, key: SchemaKey) -> bool:
        """Delete a schema with its versions; whether there was one."""

    def add_version(self, version: Version, *, revision: int, replaces: str | None) -> bool:
        """Add a version, numbered by the schema's ``next_number``, in place of version id ``replaces`` where given.

        False, and nothing written, where the schema's revision is not ``revision`` or its definition is there already.
        """

    def get_version(self, version_id: str) -> Version | None:
        """By id, from memory where it was read before."""

    def get_version_numbered(self, key: SchemaKey, number: int) -> Version | None:
        """By number."""

    def find_version(self, key: SchemaKey, fingerprint: str) -> Version | None:
        """By the fingerprint of its canonical text."""

    def list_versions(self, key: SchemaKey, after: int | None, count: int) -> Sequence[VersionHead]:
        """Up to ``count`` versions numbered above ``after``."""

    def usable_versions(self, key: SchemaKey, first: int) -> Sequence[Version]:
        """All AVAILABLE versions numbered ``first`` and up."""

    def delete_versions(self, key: SchemaKey, numbers: range, now: datetime, *, revision: int) -> Sequence[int] | None:
        """Delete what there is of ``numbers``: those deleted; None, and nothing done, where the revision is another."""

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

"""Deletion in two steps, as Confluent's clients know it: softly first, which can be taken back, then for good.

What is soft-deleted is left out of compatibility checks and listings, and stays readable by its ids. Registering the same
definition again brings it back.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from penstock.registry.errors import NotSoftDeleted, SchemaNotFound, SoftDeleted, TooMuchContention, VersionNotFound
from penstock.registry.model import AVAILABLE, Schema, SchemaKey, Version
from penstock.registry.store import RegistryStore
from penstock.registry.versions.registration import Versions

__all__ = ["Deletions"]

T = TypeVar("T")

_ATTEMPTS = 200


class Deletions:
    """Both steps, for a version and for all versions of a schema. Refused versions are no concern of it.

    Every method raises :class:`SchemaNotFound`, :class:`VersionNotFound`, and
    :class:`~penstock.registry.errors.VersionReferenced` where other versions build on what would go.
    """

    def __init__(self, store: RegistryStore, versions: Versions, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._versions = versions
        self._now = now

    def soft(self, key: SchemaKey, number: int) -> Version:
        """Soft-delete a version; :class:`SoftDeleted` where it is already."""

        def attempt(schema: Schema) -> Version | None:
            version = self._version(key, number)
            if version.deleted is not None:
                raise SoftDeleted(key, number)
            done = self._store.soft_delete_versions(key, [number], self._now(), revision=schema.revision)
            return None if done is None else version

        return self._repeat(key, attempt)

    def soft_all(self, key: SchemaKey) -> Sequence[int]:
        """Soft-delete all versions: their numbers; :class:`SoftDeleted` where they are already."""

        def attempt(schema: Schema) -> Sequence[int] | None:
            heads = self._versions.heads(key, deleted=True)
            live = [head.number for head in heads if head.deleted is None]
            if not heads:
                raise SchemaNotFound(*key)
            if not live:
                raise SoftDeleted(key)
            return self._store.soft_delete_versions(key, live, self._now(), revision=schema.revision)

        return self._repeat(key, attempt)

    def purge(self, key: SchemaKey, number: int) -> int:
        """Delete a version for good; :class:`NotSoftDeleted`."""

        def attempt(schema: Schema) -> Sequence[int] | None:
            if self._version(key, number).deleted is None:
                raise NotSoftDeleted(key, number)
            return self._store.delete_versions(key, [number], self._now(), revision=schema.revision)

        self._repeat(key, attempt)
        return number

    def purge_all(self, key: SchemaKey) -> Sequence[int]:
        """Delete the schema for good with its versions, whose numbers are given; :class:`NotSoftDeleted`."""
        heads = self._versions.heads(key, deleted=True)
        if not heads:
            raise SchemaNotFound(*key)
        if any(head.deleted is None for head in heads):
            raise NotSoftDeleted(key)
        if not self._store.delete_schema(key):
            raise SchemaNotFound(*key)
        return [head.number for head in heads]

    def _version(self, key: SchemaKey, number: int) -> Version:
        version = self._store.get_version_numbered(key, number)
        if version is None or version.status != AVAILABLE:
            raise VersionNotFound(f"RegistryName: {key.registry}, SchemaName: {key.name}, VersionNumber: {number}")
        return version

    def _repeat(self, key: SchemaKey, attempt: Callable[[Schema], T | None]) -> T:
        for _ in range(_ATTEMPTS):
            schema = self._store.get_schema(key)
            if schema is None:
                raise SchemaNotFound(*key)
            done = attempt(schema)
            if done is not None:
                return done
        raise TooMuchContention(*key)

"""Delete versions: in one step for Glue's clients, in two for Confluent's.

The first of the two steps, soft deletion, is reversible. Soft-deleted versions are left out of compatibility checks and
listings, and stay readable by their ids. Registering the same definition again restores them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from penstock.errors import InvalidInput
from penstock.registry.errors import (
    NotSoftDeleted,
    ProtectedVersion,
    SchemaNotFound,
    SoftDeleted,
    TooMuchContention,
    VersionNotFound,
)
from penstock.registry.model import AVAILABLE, Schema, SchemaKey, Version
from penstock.registry.store import DeletionStore, SchemaStore, VersionStore
from penstock.registry.versions.history import all_heads

__all__ = ["Deletion", "Deletions"]

T = TypeVar("T")

_ATTEMPTS = 200
_MAX_DELETED = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """The result of DeleteSchemaVersions: numbers that were deleted, numbers that did not exist."""

    deleted: Sequence[int]
    missing: Sequence[int]


class Deletions:
    """Glue's deletion of a range of versions; both of Confluent's steps, for a version and for all versions of a schema.

    Confluent's steps leave refused versions alone. Every method raises :class:`SchemaNotFound`, :class:`VersionNotFound`,
    and :class:`~penstock.registry.errors.VersionReferenced` if other versions refer to one that would be deleted.
    """

    def __init__(
        self,
        store: DeletionStore,
        schemas: SchemaStore,
        versions: VersionStore,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._schemas = schemas
        self._versions = versions
        self._now = now

    def delete(self, key: SchemaKey, numbers: range) -> Deletion:
        """Delete up to 25 versions.

        :class:`ProtectedVersion`, and nothing deleted, if the checkpoint or the first version is among them; they are
        deleted only with the schema.
        """
        if len(numbers) > _MAX_DELETED:
            raise InvalidInput(f"{len(numbers)} versions were given; one call deletes {_MAX_DELETED}.")

        def attempt(schema: Schema) -> Sequence[int] | None:
            if schema.checkpoint in numbers:
                raise ProtectedVersion(
                    f"Version {schema.checkpoint} of schema {key.name} is the checkpoint and cannot be deleted.",
                    remedy="Move the checkpoint with UpdateSchema first.",
                )
            if 1 in numbers:
                raise ProtectedVersion(
                    f"The first version of schema {key.name} cannot be deleted.", remedy="DeleteSchema deletes all versions."
                )
            heads = self._versions.list(key, numbers.start - 1, len(numbers))
            live = [head.number for head in heads if head.number in numbers]
            return self._store.delete(key, live, self._now(), revision=schema.revision)

        deleted = self._repeat(key, attempt)
        return Deletion(deleted=deleted, missing=[number for number in numbers if number not in deleted])

    def soft(self, key: SchemaKey, number: int) -> Version:
        """Soft-delete a version; :class:`SoftDeleted` if it is already."""

        def attempt(schema: Schema) -> Version | None:
            version = self._version(key, number)
            if version.deleted is not None:
                raise SoftDeleted(key, number)
            numbers = self._store.soft_delete(key, [number], self._now(), revision=schema.revision)
            return None if numbers is None else version

        return self._repeat(key, attempt)

    def soft_all(self, key: SchemaKey) -> Sequence[int]:
        """Soft-delete all versions and return their numbers; :class:`SoftDeleted` if they are already."""

        def attempt(schema: Schema) -> Sequence[int] | None:
            heads = all_heads(self._versions, key, deleted=True)
            live = [head.number for head in heads if head.deleted is None]
            if not heads:
                raise SchemaNotFound(*key)
            if not live:
                raise SoftDeleted(key)
            return self._store.soft_delete(key, live, self._now(), revision=schema.revision)

        return self._repeat(key, attempt)

    def purge(self, key: SchemaKey, number: int) -> int:
        """Delete a version permanently; :class:`NotSoftDeleted`."""

        def attempt(schema: Schema) -> Sequence[int] | None:
            if self._version(key, number).deleted is None:
                raise NotSoftDeleted(key, number)
            return self._store.delete(key, [number], self._now(), revision=schema.revision)

        self._repeat(key, attempt)
        return number

    def purge_all(self, key: SchemaKey) -> Sequence[int]:
        """Delete the schema permanently with its versions and return their numbers; :class:`NotSoftDeleted`."""
        heads = all_heads(self._versions, key, deleted=True)
        if not heads:
            raise SchemaNotFound(*key)
        if any(head.deleted is None for head in heads):
            raise NotSoftDeleted(key)
        if not self._schemas.delete(key):
            raise SchemaNotFound(*key)
        return [head.number for head in heads]

    def _version(self, key: SchemaKey, number: int) -> Version:
        version = self._versions.get_numbered(key, number)
        if version is None or version.status != AVAILABLE:
            raise VersionNotFound(f"RegistryName: {key.registry}, SchemaName: {key.name}, VersionNumber: {number}")
        return version

    def _repeat(self, key: SchemaKey, attempt: Callable[[Schema], T | None]) -> T:
        for _ in range(_ATTEMPTS):
            schema = self._schemas.get(key)
            if schema is None:
                raise SchemaNotFound(*key)
            result = attempt(schema)
            if result is not None:
                return result
        raise TooMuchContention(*key)

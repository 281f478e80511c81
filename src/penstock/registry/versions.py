"""Schema versions: register under the schema's policy, find, compare, delete."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from uuid import uuid4

from penstock.errors import InvalidInput
from penstock.paging import Page, page
from penstock.registry.definitions import Definitions
from penstock.registry.errors import (
    ProtectedVersion,
    RegistryFull,
    SchemaNotFound,
    TooMuchContention,
    VersioningDisabled,
    VersionNotFound,
)
from penstock.registry.model import AVAILABLE, FAILURE, RegistryLimits, Schema, SchemaKey, Version, VersionHead
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, check, relevant
from penstock.schema.errors import InvalidSchema
from penstock.schema.formats import format_of

__all__ = ["Deletion", "Versions"]

_log = logging.getLogger("penstock.registry")

# Writers of one schema queue inside a process; between processes they meet at the schema's revision and try again.
_ATTEMPTS = 200
_LOCKS = 64
_MAX_DELETED = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What DeleteSchemaVersions did: numbers that are gone, numbers that were never there."""

    deleted: Sequence[int]
    missing: Sequence[int]


class Versions:
    """Versions of schemas.

    'Earlier' versions, for a compatibility check, are the AVAILABLE ones from the checkpoint on: the last of them for
    BACKWARD, FORWARD and FULL, all of them for the _ALL modes. Refused versions (FAILURE) keep their number and count for
    nothing else. 'Latest' is the highest AVAILABLE one, so that a consumer never gets a refused schema.
    """

    def __init__(
        self, store: RegistryStore, definitions: Definitions, *, now: Callable[[], datetime], limits: RegistryLimits
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._now = now
        self._limits = limits
        self._locks = [Lock() for _ in range(_LOCKS)]

    def register(self, key: SchemaKey, definition: str) -> Version:
        """The version of ``definition``, new or the one it has already.

        An incompatible definition becomes a version with status FAILURE, which keeps the verdict; registered again after the
        policy changed so that it fits, it gets a new id and number. Raises :class:`SchemaNotFound`,
        :class:`~penstock.schema.errors.InvalidSchema`, :class:`VersioningDisabled`, :class:`RegistryFull`.
        """
        with self._locks[hash(key) % _LOCKS]:
            for _ in range(_ATTEMPTS):
                version = self._try_register(key, definition)
                if version is not None:
                    return version
        raise TooMuchContention(*key)

    def _try_register(self, key: SchemaKey, definition: str) -> Version | None:
        schema = self._schema(key)
        parsed = self._definitions.parse(schema.data_format, definition)
        known = self._store.find_version(key, parsed.fingerprint)
        if known is not None and known.status == AVAILABLE:
            return known
        if schema.compatibility is CompatibilityMode.DISABLED and schema.latest is not None:
            raise VersioningDisabled(*key)
        if schema.next_number > self._limits.versions_per_schema:
            raise RegistryFull(f"{self._limits.versions_per_schema} versions of schema {key.name}")
        verdict = self._judge(schema, definition)
        if known is not None and not verdict.compatible:
            return known
        version = Version(
            id=str(uuid4()),
            key=key,
            number=schema.next_number,
            status=AVAILABLE if verdict.compatible else FAILURE,
            data_format=schema.data_format,
            created=self._now(),
            definition=definition,
            fingerprint=parsed.fingerprint,
            verdict=None if verdict.compatible else verdict,
        )
        added = self._store.add_version(version, revision=schema.revision, replaces=known.id if known else None)
        if not added:
            return None
        if not verdict.compatible:
            _log.warning("schema %s/%s: version %d refused. %s", key.registry, key.name, version.number, verdict)
        return version

    def judge(self, key: SchemaKey, definition: str) -> CompatibilityVerdict:
        """What registering ``definition`` would find, without registering it."""
        return self._judge(self._schema(key), definition)

    def _judge(self, schema: Schema, definition: str) -> CompatibilityVerdict:
        mode = schema.compatibility
        earlier: Sequence[Version] = ()
        if schema.latest is not None and relevant(mode, [schema.latest]):
            first = schema.checkpoint if mode.checks_all else schema.latest
            earlier = self._store.usable_versions(schema.key, first)
        parse = self._definitions.parse
        return check(
            format_of(schema.data_format),
            mode,
            parse(schema.data_format, definition),
            [(version.number, parse(version.data_format, version.definition)) for version in earlier],
        )

    def check(self, data_format: str, definition: str) -> str | None:
        """What makes ``definition`` invalid, or None; no schema's policy is asked."""
        rules = format_of(data_format)
        try:
            self._definitions.parse(rules.name, definition)
        except InvalidSchema as error:
            return str(error)
        return None

    def get(self, version_id: str) -> Version:
        """By id; :class:`VersionNotFound`."""
        version = self._store.get_version(version_id)
        if version is None:
            raise VersionNotFound(f"SchemaVersionId: {version_id}")
        return version

    def get_numbered(self, key: SchemaKey, number: int | None) -> Version:
        """By number, None being the latest; :class:`SchemaNotFound`, :class:`VersionNotFound`."""
        wanted = self._schema(key).latest if number is None else number
        version = None if wanted is None else self._store.get_version_numbered(key, wanted)
        if version is None:
            self._schema(key)
            raise VersionNotFound(
                f"RegistryName: {key.registry}, SchemaName: {key.name}, VersionNumber: {wanted or 'latest'}"
            )
        return version

    def find(self, key: SchemaKey, definition: str) -> Version:
        """By definition, in any spelling; :class:`SchemaNotFound`, :class:`VersionNotFound`."""
        parsed = self._definitions.parse(self._schema(key).data_format, definition)
        version = self._store.find_version(key, parsed.fingerprint)
        if version is None:
            raise VersionNotFound(f"RegistryName: {key.registry}, SchemaName: {key.name}")
        return version

    def list(self, key: SchemaKey, *, token: str | None = None, size: int = 25) -> Page[VersionHead]:
        """A page of versions by number, refused ones included; :class:`SchemaNotFound`."""
        self._schema(key)

        def read(after: int | None, count: int) -> Sequence[VersionHead]:
            return self._store.list_versions(key, after, count)

        return page(f"versions:{key.registry}/{key.name}", token, size, read, lambda version: version.number, kind=int)

    def delete(self, key: SchemaKey, numbers: range) -> Deletion:
        """Delete up to 25 versions.

        :class:`ProtectedVersion`, and nothing deleted, where the checkpoint or the first version is among them; they go with
        the schema alone.
        """
        if len(numbers) > _MAX_DELETED:
            raise InvalidInput(f"{len(numbers)} versions were given; one call deletes {_MAX_DELETED}.")
        for _ in range(_ATTEMPTS):
            schema = self._schema(key)
            if schema.checkpoint in numbers:
                raise ProtectedVersion(
                    f"Version {schema.checkpoint} of schema {key.name} is the checkpoint and cannot be deleted.",
                    remedy="Move the checkpoint with UpdateSchema first.",
                )
            if 1 in numbers:
                raise ProtectedVersion(
                    f"The first version of schema {key.name} cannot be deleted.", remedy="DeleteSchema deletes all versions."
                )
            deleted = self._store.delete_versions(key, numbers, self._now(), revision=schema.revision)
            if deleted is not None:
                return Deletion(deleted=deleted, missing=[number for number in numbers if number not in deleted])
        raise TooMuchContention(*key)

    def _schema(self, key: SchemaKey) -> Schema:
        schema = self._store.get_schema(key)
        if schema is None:
            raise SchemaNotFound(*key)
        return schema

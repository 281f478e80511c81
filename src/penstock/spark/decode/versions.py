"""A schema's versions as they are known: refreshed for each batch, and usable while the registry is away."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from penstock.errors import DataProblem, NotFound, PenstockError
from penstock.pipelines.model import Decode
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.readers import reader_definition

__all__ = ["MAX_LOOKUPS", "DecodePlan", "SchemaVersions", "VersionSource"]

_log = logging.getLogger(__name__)

MAX_LOOKUPS = 100


class VersionSource(Protocol):
    """What the runner asks of a registry; :class:`penstock.client.registry.RegistryClient` is one."""

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> Sequence[SchemaVersion]:
        """All AVAILABLE versions, in the order of their numbers."""
        ...

    def version(self, version_id: UUID | str) -> SchemaVersion:
        """The version with this id; :class:`NotFound` where there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePlan:
    """The versions a batch is decoded with, and the reader they are resolved to (its definition already relaxed)."""

    writers: tuple[SchemaVersion, ...]
    reader: SchemaVersion
    reader_definition: str


class SchemaVersions:
    """The versions of one schema. :meth:`refresh` asks the registry; :meth:`plan` decides from what is known."""

    def __init__(self, source: VersionSource, decode: Decode) -> None:
        self._source = source
        self._decode = decode
        self._known: dict[UUID, SchemaVersion] = {}
        self.stale = False

    @property
    def name(self) -> str:
        """Registry and schema, for messages."""
        return f"{self._decode.registry}/{self._decode.schema}"

    def refresh(self) -> None:
        """List the versions again. Where the registry is away and versions are known, go on with those (``stale``).

        Raises what the registry's client raises where nothing is known yet, and :class:`DataProblem` where the schema is
        not Avro or has no version.
        """
        try:
            self._list()
        except NotFound:
            raise
        except PenstockError as error:
            if not self._known:
                raise
            self.stale = True
            _log.warning("schema %s: the versions could not be listed, going on with the known ones: %s", self.name, error)

    def _list(self) -> None:
        listed = self._source.versions(self._decode.registry, self._decode.schema)
        self.stale = False
        for version in listed:
            self._add(version)
        if not self._known:
            raise DataProblem(
                f"Schema {self.name} has no AVAILABLE version.", remedy="Register one, or name another schema."
            )

    def _add(self, version: SchemaVersion) -> None:
        if version.data_format != "AVRO":
            raise DataProblem(
                f"Schema {self.name} is {version.data_format}; the runner decodes AVRO.",
                remedy="Name a schema in AVRO format.",
            )
        self._known[version.id] = version

    def relist(self) -> list[UUID]:
        """List again because a batch holds ids that the plan did not know; the ids that are new.

        Raises where the registry does not answer: nothing is given up as unknown because of an outage.
        """
        before = set(self._known)
        self._list()
        return [each for each in self._known if each not in before]

    def look_up(self, ids: Sequence[UUID]) -> list[UUID]:
        """Look up, by id, what the list does not have, the first :data:`MAX_LOOKUPS` of them; those that can be decoded now.

        That is for a registry whose list lags. Raises where it does not answer.
        """
        for each in [each for each in ids if each not in self._known][:MAX_LOOKUPS]:
            try:
                version = self._source.version(each)
            except NotFound:
                continue
            if version.status == "AVAILABLE" and self._same_schema(version):
                self._add(version)
        return [each for each in ids if each in self._known]

    def _same_schema(self, version: SchemaVersion) -> bool:
        return (version.registry_name, version.schema_name) == (self._decode.registry, self._decode.schema)

    def known(self, version_id: UUID) -> SchemaVersion | None:
        """The version, where it is known."""
        return self._known.get(version_id)

    @property
    def needs_several_passes(self) -> bool:
        """Whether there are more versions than one pass decodes, so that the batch's own have to be found first."""
        return len(self._known) > self._decode.max_branches

    def plan(self, present: Iterable[UUID] | None = None) -> DecodePlan:
        """The plan for all known versions, or for those of ``present``; newest first, because most records are new.

        Raises :class:`NotFound` where the pinned reader's number is not there.
        """
        versions = sorted(self._known.values(), key=lambda version: -version.number)
        if self._decode.reader is None:
            reader = versions[0]
        else:
            pinned = [version for version in versions if version.number == self._decode.reader]
            if not pinned:
                raise NotFound(
                    f"Schema {self.name} has no AVAILABLE version {self._decode.reader}, the declared reader.",
                    remedy="Declare 'reader: latest' or a version that exists.",
                )
            reader = pinned[0]
        wanted = None if present is None else set(present)
        writers = tuple(version for version in versions if wanted is None or version.id in wanted)
        definition = reader_definition(reader.definition, [version.definition for version in versions])
        return DecodePlan(writers=writers, reader=reader, reader_definition=definition)

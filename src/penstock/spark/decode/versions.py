"""The known versions of a schema: refreshed for each batch, and usable while the registry is unavailable."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from penstock.errors import DataProblem, NotFound, PenstockError
from penstock.pipelines.model import Decode
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.formats import format_of
from penstock.spark.decode.formats.port import PayloadFormat

__all__ = ["MAX_LOOKUPS", "DecodePlan", "SchemaVersions", "VersionSource"]

_log = logging.getLogger(__name__)

MAX_LOOKUPS = 100


class VersionSource(Protocol):
    """The registry operations of the runner; :class:`penstock.client.registry.RegistryClient` has them."""

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> Sequence[SchemaVersion]:
        """Return all AVAILABLE versions, in the order of their numbers."""
        ...

    def version(self, version_id: UUID | str) -> SchemaVersion:
        """Return the version with this id. Raises :class:`NotFound`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePlan:
    """The versions that a batch is decoded with, and the reader that they are resolved to (with its relaxed definition)."""

    writers: tuple[SchemaVersion, ...]
    reader: SchemaVersion
    reader_definition: str

    @property
    def data_format(self) -> str:
        """AVRO, JSON or PROTOBUF; all versions of a schema have one."""
        return self.reader.data_format

    @property
    def format(self) -> PayloadFormat:
        """The payloads' format."""
        return format_of(self.data_format)


class SchemaVersions:
    """The versions of one schema. :meth:`refresh` reads them from the registry; :meth:`plan` uses the known ones."""

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
        """List the versions again. If the registry is unavailable and versions are known, use those (``stale``).

        Raises the registry client's errors if no version is known yet, and :class:`DataProblem` if the schema has a format
        that is not decoded, or no version.
        """
        try:
            self._list()
        except NotFound:
            raise
        except PenstockError as error:
            if not self._known:
                raise
            self.stale = True
            _log.warning("schema %s: the versions could not be listed, continuing with the known ones: %s", self.name, error)

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
        format_of(version.data_format)
        self._known[version.id] = version

    def relist(self) -> list[UUID]:
        """List again because a batch has ids that the plan lacks; return the new ids.

        Raises the client's error if the registry is unavailable, so that an outage does not make versions unknown.
        """
        before = set(self._known)
        self._list()
        return [each for each in self._known if each not in before]

    def look_up(self, ids: Sequence[UUID]) -> list[UUID]:
        """Look up ids that the list lacks, the first :data:`MAX_LOOKUPS` of them; return those that can be decoded now.

        This is for a registry whose list lags. Raises the client's error if it is unavailable.
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
        """Return the version, if it is known."""
        return self._known.get(version_id)

    @property
    def needs_several_passes(self) -> bool:
        """Whether there are more versions than one pass decodes, so that the batch's own must be found first."""
        return len(self._known) > self._decode.max_branches

    def plan(self, present: Iterable[UUID] | None = None) -> DecodePlan:
        """Return the plan for all known versions, or for those of ``present``; newest first, because most records are new.

        Raises :class:`NotFound` if the pinned reader does not exist.
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
        definition = format_of(reader.data_format).reader(reader, versions)
        return DecodePlan(writers=writers, reader=reader, reader_definition=definition)

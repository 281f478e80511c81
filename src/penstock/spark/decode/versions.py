"""The known versions of a schema: refreshed for each batch, and usable while the registry is unavailable."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable
from uuid import UUID

from pyspark.sql import DataFrame

from penstock.errors import DataProblem, NotFound, PenstockError
from penstock.pipelines.decode import ConfluentRegistry, Decode, Frames, Key
from penstock.schema.version import SchemaVersion
from penstock.spark.decode.confluent import ConfluentRequests, SubjectVersions
from penstock.spark.decode.formats import format_of
from penstock.spark.decode.formats.port import FormatSettings, PayloadFormat
from penstock.spark.decode.frames import SchemaPrefix, prefixes_of
from penstock.spark.decode.inferred import InferredSchema

__all__ = ["MAX_LOOKUPS", "DecodePlan", "SchemaVersions", "VersionSource"]

_log = logging.getLogger(__name__)

MAX_LOOKUPS = 100

_KEPT_PLANS = 4
_LONG_LIST = 100  # versions of one page of the registry's list

FOREIGN = 1_000_000
"""What is added to the numbers of versions of a Confluent registry beside a schema of Glue's."""


class VersionSource(Protocol):
    """The registry operations of the runner; :class:`penstock.client.registry.RegistryClient` has them."""

    def versions(self, registry: str, schema: str, *, available_only: bool = True) -> Sequence[SchemaVersion]:
        """Return all AVAILABLE versions, in the order of their numbers."""
        ...

    def version(self, version_id: UUID | str) -> SchemaVersion:
        """Return the version with this id. Raises :class:`NotFound`."""
        ...


@runtime_checkable
class NumbersVersions(Protocol):
    """A registry that returns the number of a schema's latest version, which is cheaper than listing hundreds."""

    def latest_number(self, registry: str, schema: str) -> int:
        """Return the number of the latest version, whatever its status."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodePlan:
    """The versions that a batch is decoded with, and the reader that they are resolved to (with its relaxed definition).

    With ``mixed``, frames of Confluent's are decoded too, and ``confluent`` has pairs of their ids and version ids.
    ``unframed`` is the number of the version of records without a frame. While ``learning``, records that this plan cannot
    read, but a later one may, have the reason NEEDS_FRAMES. The reader may be ``inferred`` from the records. ``key`` is the
    plan of the keys, whose columns' names begin with ``key_prefix``; its ``zlib`` says that keys are compressed.
    """

    writers: tuple[SchemaVersion, ...]
    reader: SchemaVersion
    reader_definition: str
    frames: Frames = "any"
    mixed: bool = False
    confluent: tuple[tuple[int, UUID], ...] = ()
    unframed: int | None = None
    settings: FormatSettings = field(default_factory=FormatSettings)
    learning: bool = False
    inferred: bool = False
    key: "DecodePlan | None" = None
    key_prefix: str = ""
    zlib: bool = False

    @property
    def data_format(self) -> str:
        """AVRO, JSON or PROTOBUF; all versions of a schema have one."""
        return self.reader.data_format

    @property
    def format(self) -> PayloadFormat:
        """The payloads' format."""
        return format_of(self.data_format, self.settings)

    @property
    def plain(self) -> bool:
        """Whether all records are expected to be Avro in AWS's frame, for which there is a shorter decoder."""
        return self.data_format == "AVRO" and not self.mixed and self.frames in ("any", "glue") and self.key is None

    @property
    def prefixes(self) -> dict[bytes, int]:
        """Return the numbers of the writers by the prefixes that records name them by."""
        ids: dict[UUID, list[int]] = {}
        for schema_id, version_id in self.confluent:
            ids.setdefault(version_id, []).append(schema_id)
        return {
            prefix: version.number for version in self.writers for prefix in prefixes_of(version.id, ids.get(version.id, ()))
        }


class SchemaVersions:
    """The versions of one schema. :meth:`refresh` reads them from the registry; :meth:`plan` uses the known ones.

    ``connect`` opens Confluent's API of the declared registry, or of Penstock's own; it returns None if there is none, as
    on AWS. It is called at the first record with a frame of Confluent's.
    """

    def __init__(
        self,
        source: VersionSource,
        decode: Decode,
        *,
        connect: Callable[[ConfluentRegistry], ConfluentRequests | None] = lambda _: None,
        keys: "SchemaVersions | None" = None,
    ) -> None:
        self._source = source
        self._decode = decode
        self._known: dict[UUID, SchemaVersion] = {}
        self._connect = connect
        self._keys = keys
        self._inferred = source if isinstance(source, InferredSchema) else None
        self._learning = False
        self._zlib = False
        self._subject: SubjectVersions | None = None
        self._confluent: dict[int, UUID] = {}
        self._only_confluent = not decode.schema and not decode.infers
        self._mixed = decode.frames == "confluent" or self._only_confluent
        self._recent: dict[UUID, None] = {}  # versions of the last batches' records, the newest batch last
        self._plans: dict[tuple[object, ...], DecodePlan] = {}
        self.stale = False

    @property
    def name(self) -> str:
        """Registry and schema, for messages."""
        return self._decode.name

    def refresh(self) -> None:
        """List the versions again. If the registry is unavailable and versions are known, use those (``stale``).

        Raises the registry client's errors if no version is known yet, and :class:`DataProblem` if the schema has a format
        that is not decoded, or no version.
        """
        if not self._confluent and self._decode.frames == "any" and not self._only_confluent:
            self._mixed = False  # those records only looked like Confluent's frames
        self._learning = True
        if self._keys is not None:
            self._keys.refresh()
        try:
            self._list(known=True)
        except NotFound:
            raise
        except PenstockError as error:
            if not self._known:
                raise
            self.stale = True
            _log.warning("schema %s: the versions could not be listed, continuing with the known ones: %s", self.name, error)

    def _list(self, *, known: bool = False) -> None:
        """Add what the registry lists; with ``known``, only if a long list can have changed."""
        if self._inferred is not None:
            self._known = {}
        if not self._only_confluent and not (known and self._has_latest()):
            for version in self._source.versions(self._decode.registry, self._decode.schema):
                self._add(version)
        if self._mixed:
            self._list_subject()
        self.stale = False
        if not self._known:
            raise DataProblem(
                f"Schema {self.name} has no AVAILABLE version.", remedy="Register one, or name another schema."
            )

    def _has_latest(self) -> bool:
        """Return whether there are many versions, and the latest is known. Others are asked for when a record has them."""
        if len(self._known) <= _LONG_LIST or not isinstance(self._source, NumbersVersions):
            return False
        latest = self._source.latest_number(self._decode.registry, self._decode.schema)
        return any(version.number == latest for version in self._known.values())

    def _list_subject(self) -> None:
        """Add the subject's versions, and the ids that frames name them by."""
        if self._subject is None:
            declared = self._decode.confluent or ConfluentRegistry()
            client = self._connect(declared)
            if client is None:
                return
            self._subject = SubjectVersions(declared, self._decode.registry, self._decode.schema, client)
        numbers = {version.number: version for version in self._known.values()}
        for schema_id, version in self._subject.list().items():
            if schema_id in self._confluent:
                continue
            same = self._known.get(version.id) or (None if self._subject.foreign else numbers.get(version.number))
            if same is None:
                same = self._apart(version)
                self._add(same)
            self._confluent[schema_id] = same.id

    def _apart(self, version: SchemaVersion) -> SchemaVersion:
        """Return a version of another registry under a number that no version of the declared schema has."""
        return version if self._only_confluent else replace(version, number=FOREIGN + version.number)

    def _add(self, version: SchemaVersion) -> None:
        format_of(version.data_format)
        self._known[version.id] = version

    def learn(self, records: DataFrame) -> None:
        """Prepare for what a batch turned out to have: other frames, keys of new versions, new fields of documents.

        After this, what still cannot be read is a dead letter. Raises the clients' errors, and :class:`DataProblem` for
        documents that no table can hold.
        """
        self._learning = False
        if self._inferred is not None:
            if self._inferred.learn(records):
                self._list()
        elif self._decode.frames == "any":
            self._mixed = True
            self._list_subject()
        if self._keys is not None:
            self._keys._zlib = True
            self._keys._list()
            self._keys.learn(records)

    @property
    def inferred(self) -> InferredSchema | None:
        """The schema that is inferred from the documents; None where one is registered."""
        return self._inferred

    def relist(self) -> list[UUID]:
        """List again because a batch has ids that the plan lacks; return the ids of the new versions.

        Raises the client's error if the registry is unavailable, so that an outage does not make versions unknown.
        """
        before, named = set(self._known), set(self._confluent)
        self._list()
        added = [self._confluent[number] for number in self._confluent if number not in named]
        return [uuid for uuid in self._known if uuid not in before or uuid in added]

    def look_up(self, ids: Sequence[SchemaPrefix]) -> list[UUID]:
        """Look up ids that the list lacks, the first :data:`MAX_LOOKUPS` of them; return those that can be decoded now.

        This is for a registry whose list lags. Confluent's ids are not looked up one by one: another subject has them.
        Raises the client's error if it is unavailable.
        """
        version_ids = [id_ for id_ in ids if isinstance(id_, UUID)]
        for version_id in [uuid for uuid in version_ids if uuid not in self._known][:MAX_LOOKUPS]:
            if self._only_confluent:
                break
            try:
                version = self._source.version(version_id)
            except NotFound:
                continue
            if version.status == "AVAILABLE" and self._same_schema(version):
                self._add(version)
        return [uuid for uuid in version_ids if uuid in self._known]

    def _same_schema(self, version: SchemaVersion) -> bool:
        return (version.registry_name, version.schema_name) == (self._decode.registry, self._decode.schema)

    def known_of(self, ids: Iterable[UUID]) -> list[UUID]:
        """Return those of ``ids`` that are known versions."""
        return [id_ for id_ in ids if id_ in self._known]

    def note(self, seen: Iterable[UUID]) -> None:
        """Remember versions that a batch's records were written with."""
        for uuid in seen:
            self._recent.pop(uuid, None)
            self._recent[uuid] = None
        while len(self._recent) > self._decode.max_branches:
            del self._recent[next(iter(self._recent))]

    def likely(self) -> list[UUID] | None:
        """Return the Avro versions to expect in the next batch if there are more than one pass decodes; None for all.

        Those of the last batches are among them, and the newest.
        """
        if len(self._known) <= self._decode.max_branches or self._reader().data_format != "AVRO":
            return None
        likely = dict.fromkeys(
            (self._reader().id, *reversed(self._recent), *(schema_version.id for schema_version in self._newest_first()))
        )
        return sorted(list(likely)[: self._decode.max_branches])

    def plan(self, present: Iterable[UUID] | None = None) -> DecodePlan:
        """Return the plan for all known versions, or for those of ``present``; newest first, because most records are new.

        It is the same object for as long as nothing has changed. Raises :class:`NotFound` if the pinned reader does not
        exist.
        """
        chosen = None if present is None else tuple(present)
        if self._inferred is not None or self._keys is not None:
            return self._plan(chosen)
        key = (tuple(self._known), chosen, self._mixed, tuple(self._confluent.items()), self._learning, self._zlib)
        if key not in self._plans:
            self._plans = {**dict(list(self._plans.items())[-_KEPT_PLANS:]), key: self._plan(chosen)}
        return self._plans[key]

    def _plan(self, present: Sequence[UUID] | None) -> DecodePlan:
        reader = self._reader()
        versions = [
            schema_version for schema_version in self._newest_first() if schema_version.data_format == reader.data_format
        ]
        settings = FormatSettings(extra_fields=self._decode.extra_fields, message=self._decode.message)
        self._check_format(reader)
        # Which versions a batch has is known of AWS's frames only.
        selected = None if present is None or self._mixed else set(present)
        plan = DecodePlan(
            writers=tuple(version for version in versions if selected is None or version.id in selected),
            reader=reader,
            reader_definition=format_of(reader.data_format, settings).reader(reader, versions),
            frames=self._decode.frames,
            mixed=self._mixed,
            confluent=tuple(self._confluent.items()) if self._mixed else (),
            unframed=self._numbered(self._decode.version).number if self._decode.frames == "none" else None,
            settings=settings,
            learning=self._learning,
            inferred=self._inferred is not None,
            zlib=self._zlib,
        )
        if self._keys is None or not isinstance(self._decode.key, Key):
            return plan
        return replace(plan, key=self._keys.plan(), key_prefix=self._decode.key.prefix)

    def _check_format(self, reader: SchemaVersion) -> None:
        declared = self._decode.format
        if declared is not None and declared != reader.data_format.lower():
            raise DataProblem(
                f"Schema {self.name} is {reader.data_format}, and decode.format is {declared}.",
                remedy="Leave decode.format out, or name another schema.",
            )

    def _newest_first(self) -> list[SchemaVersion]:
        return sorted(self._known.values(), key=lambda version: -version.number)

    def _reader(self) -> SchemaVersion:
        reader = self._decode.reader
        return self._numbered(None if reader == "table" else reader)

    def _numbered(self, number: int | None) -> SchemaVersion:
        """Return the version with this number; without one the latest, of the declared schema if it has versions."""
        versions = self._newest_first()
        if number is None:
            return next((version for version in versions if version.number < FOREIGN), versions[0])
        matching = [version for version in versions if version.number == number]
        if not matching:
            raise NotFound(
                f"Schema {self.name} has no AVAILABLE version {number}, the declared reader.",
                remedy="Declare 'reader: latest' or a version that exists.",
            )
        return matching[0]

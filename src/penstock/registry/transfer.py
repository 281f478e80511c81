"""Export a registry as lines of JSON and import it, with ids, numbers, references, metadata, tags and configs.

The first line is :data:`HEADER`, the last one has the counts of records, so that a truncated file is detected. A line has a
``kind``: ``policy``, ``registry``, ``schema``, ``version``. ``docs/registry/registry.md`` lists the members.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from penstock.errors import DataProblem, InvalidInput
from penstock.registry.errors import (
    MetadataExists,
    MissingReference,
    RegistryExists,
    RegistryNotFound,
    SchemaExists,
    SchemaIdTaken,
)
from penstock.registry.identity import canonical_contract, fingerprint_with, registry_resource, schema_resource
from penstock.registry.model import (
    GLOBAL_SCOPE,
    MAX_VERSION,
    Metadata,
    NewVersion,
    Reference,
    Registry,
    RegistryLimits,
    Schema,
    SchemaKey,
    ScopeConfig,
    Version,
    VersionHead,
)
from penstock.registry.service import RegistryService
from penstock.registry.store import RegistryStore
from penstock.schema.compatibility import CompatibilityMode, CompatibilityVerdict, Conflict

__all__ = ["HEADER", "TransferReport", "compared", "exported", "import_lines", "import_records", "written"]

HEADER = {"kind": "header", "format": "penstock-registry", "version": 1}
_MAX_LINE = 16_000_000
_PAGE = 500
_ATTEMPTS = 50


@dataclass(slots=True, kw_only=True)
class TransferReport:
    """The result of an import: versions in the file, versions added, differences from the store."""

    versions: int = 0
    added: int = 0
    differences: list[str] = field(default_factory=list)


def written(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The file's lines, without line feeds: ``records`` between the header and the counts."""
    counts: Counter[str] = Counter()
    yield json.dumps(HEADER)
    for record in records:
        counts[record["kind"]] += 1
        yield json.dumps(record, ensure_ascii=False)
    yield json.dumps({"kind": "end", "counts": dict(counts)})


def exported(store: RegistryStore, registry: str | None = None) -> Iterator[dict[str, Any]]:
    """Records of all registries, or of one.

    Writers need not stop: each record is consistent, the export as a whole is not a snapshot.

    :class:`~penstock.registry.errors.RegistryNotFound` if there is no ``registry``.
    """
    if registry is None:
        yield from _config(store, GLOBAL_SCOPE)
    elif store.registries.get(registry) is None:
        raise RegistryNotFound(registry)
    after: str | None = None
    while registries := store.registries.list(after, _PAGE):
        for entry in registries:
            if registry in (None, entry.name):
                yield from _registry(store, entry)
        after = registries[-1].name


def import_lines(store: RegistryStore, service: RegistryService, lines: Iterable[str]) -> TransferReport:
    """Add the records of ``lines`` that the store lacks.

    Existing records stay, so an import that was stopped can be run again. Each version is then compared with the stored one;
    the report lists the differences. :class:`DataProblem` for lines that are not an export, or not all of one.
    """
    return _Import(store, service).run(lines)


def import_records(store: RegistryStore, service: RegistryService, records: Iterable[Mapping[str, Any]]) -> TransferReport:
    """:func:`import_lines` of records that do not come from a file."""
    importing = _Import(store, service)
    for record in records:
        importing.take(record)
    return importing.finish()


def compared(store: RegistryStore, service: RegistryService, records: Iterable[Mapping[str, Any]]) -> TransferReport:
    """Compare the store with ``records`` of registries, schemas and versions; nothing is written.

    All of a schema's versions follow it. Further versions in the store are differences, too.
    """
    return _Comparison(store, service).run(records)


def _registry(store: RegistryStore, registry: Registry) -> Iterator[dict[str, Any]]:
    resource = registry_resource(registry.name)
    yield {
        "kind": "registry",
        "name": registry.name,
        "description": registry.description,
        "created": registry.created.isoformat(),
        "updated": registry.updated.isoformat(),
        "tags": dict(store.tags.get(resource)),
    }
    yield from _config(store, resource)
    after: SchemaKey | None = None
    while schemas := store.schemas.list(registry.name, after, _PAGE):
        for schema in schemas:
            yield from _schema(store, schema)
        after = schemas[-1].key


def _schema(store: RegistryStore, schema: Schema) -> Iterator[dict[str, Any]]:
    resource = schema_resource(schema.key)
    yield {
        "kind": "schema",
        "registry": schema.key.registry,
        "name": schema.key.name,
        "data_format": schema.data_format,
        "compatibility": schema.compatibility,
        "description": schema.description,
        "checkpoint": schema.checkpoint,
        "next_number": schema.next_number,
        "created": schema.created.isoformat(),
        "updated": schema.updated.isoformat(),
        "tags": dict(store.tags.get(resource)),
    }
    yield from _config(store, resource)
    after: int | None = None
    while heads := store.versions.list(schema.key, after, _PAGE, deleted=True):
        for head in heads:
            version = store.versions.get(head.id)
            if version is not None:
                yield _version(version, [asdict(pair) for pair in store.metadata.list(head.id)])
        after = heads[-1].number


def _version(version: Version, metadata: list[dict[str, Any]]) -> dict[str, Any]:
    verdict = version.verdict
    return {
        "kind": "version",
        "registry": version.key.registry,
        "schema": version.key.name,
        "id": version.id,
        "serial": version.schema_id,
        "number": version.number,
        "status": version.status,
        "created": version.created.isoformat(),
        "deleted": None if version.deleted is None else version.deleted.isoformat(),
        "definition": version.definition,
        "references": [asdict(reference) for reference in version.references],
        "contract": None if version.contract is None else json.loads(version.contract),
        "verdict": None
        if verdict is None
        else {
            "mode": verdict.mode,
            "checked": list(verdict.checked),
            "conflicts": [conflict.to_json() for conflict in verdict.conflicts],
        },
        "metadata": [{**pair, "created": pair["created"].isoformat()} for pair in metadata],
    }


def _config(store: RegistryStore, scope: str) -> Iterator[dict[str, Any]]:
    config = store.configs.get((scope,)).get(scope)
    if config is not None:
        yield {"kind": "policy", **asdict(config)}


class _Import:
    def __init__(self, store: RegistryStore, service: RegistryService) -> None:
        self._store = store
        self._service = service
        self._report = TransferReport()
        self._deferred: list[tuple[Version, list[Metadata]]] = []

    def run(self, lines: Iterable[str]) -> TransferReport:
        counts: Counter[str] = Counter()
        expected: Mapping[str, int] | None = None
        for number, record in _records(lines):
            record_type = record["kind"]
            if expected is not None:
                raise DataProblem(f"Line {number} comes after the end of the export.", remedy="Give one export at a time.")
            if record_type == "end":
                expected = record["counts"]
                continue
            counts[record_type] += 1
            try:
                self.take(record)
            except (KeyError, TypeError, ValueError) as error:
                raise DataProblem(
                    f"Line {number} is not a valid {record_type} record: {error!r}.", remedy="Export it again."
                ) from error
        if expected is None or Counter(expected) != counts:
            raise DataProblem(
                "The export was cut: its last line is missing, or lines before it.",
                remedy="Export it again. What was read so far is imported, and a second import goes on from there.",
            )
        return self.finish()

    def take(self, record: Mapping[str, Any]) -> None:
        """Add a record; :class:`KeyError`, :class:`TypeError`, :class:`ValueError` if it is not valid."""
        record_type = record["kind"]
        if record_type == "policy":
            self._take_config(record)
        elif record_type == "registry":
            self._take_registry(record)
        elif record_type == "schema":
            self._take_schema(record)
        elif record_type == "version":
            self._report.versions += 1
            version, metadata = _read_version(self._service, record)
            try:
                self._add(version, metadata)
            except MissingReference:
                # Its references come later in the file.
                self._deferred.append((version, metadata))
        else:
            raise ValueError(record_type)

    def finish(self) -> TransferReport:
        """Add versions whose references came later in the file."""
        while self._deferred:
            waiting, self._deferred = self._deferred, []
            for version, metadata in waiting:
                try:
                    self._add(version, metadata)
                except MissingReference as error:
                    self._deferred.append((version, metadata))
                    last = error
            if len(self._deferred) == len(waiting):
                for version, _ in self._deferred:
                    self._differ(version, str(last))
                break
        return self._report

    def _take_config(self, record: Mapping[str, Any]) -> None:
        mode = record["compatibility"]
        members: dict[str, Any] = {member.name: record.get(member.name) for member in fields(ScopeConfig)}
        members["compatibility"] = None if mode is None else CompatibilityMode(mode)
        config = ScopeConfig(**members)
        stored = self._service.configs.get(config.scope)
        if stored is None:
            self._service.configs.put(config)
        elif stored != config:
            self._report.differences.append(f"The policy of scope '{config.scope}' differs here.")

    def _take_registry(self, record: Mapping[str, Any]) -> None:
        registry = Registry(
            name=record["name"],
            description=record["description"],
            created=_time(record["created"]),
            updated=_time(record["updated"]),
        )
        if self._store.registries.get(registry.name) is None:
            with suppress(RegistryExists):
                self._store.registries.add(registry, record["tags"], limit=RegistryLimits().registries)
                return
        self._report.differences.extend(_registry_differences(self._store, record))

    def _take_schema(self, record: Mapping[str, Any]) -> None:
        schema = _read_schema(record)
        try:
            self._store.schemas.add(schema, None, record["tags"])
        except SchemaExists:
            self._report.differences.extend(_schema_differences(self._store, record))

    def _add(self, version: Version, metadata: list[Metadata]) -> None:
        try:
            parsed = self._service.versions.parsed(version)
            version = replace(version, fingerprint=fingerprint_with(parsed.fingerprint, version.contract))
        except MissingReference:
            raise
        except InvalidInput as error:
            self._differ(version, f"its definition is not valid here. {error}")
            return
        stored = self._store.versions.get(version.id)
        if stored is None:
            try:
                stored = self._insert(version)
            except SchemaIdTaken as error:
                self._differ(version, str(error))
                return
            if stored is None:
                return
            self._report.added += 1
        expected = replace(version, schema_id=version.schema_id or stored.schema_id)
        if stored != expected:
            self._differ(
                version, f"id {version.id} is version {stored.number} of schema {stored.key.name} here, or has another text."
            )
            return
        for pair in metadata:
            try:
                self._store.metadata.put(version.id, pair, limit=MAX_VERSION)
            except MetadataExists:
                continue

    def _insert(self, version: Version) -> Version | None:
        for _ in range(_ATTEMPTS):
            revision = self._service.schemas.get(version.key).revision
            [added] = self._store.versions.add([NewVersion(version=version, revision=revision)])
            if isinstance(added, Exception):
                raise added
            if added is not None:
                return added
            same = self._store.versions.find(version.key, version.fingerprint)
            stored = self._store.versions.get_numbered(version.key, version.number)
            if same is not None:
                self._differ(version, f"the same schema is version {same.number} here, with id {same.id}.")
                return None
            if stored is not None:
                self._differ(version, f"another schema has this number here, with id {stored.id}.")
                return None
        self._differ(version, "other writers kept changing the schema.")
        return None

    def _differ(self, version: Version, why: str) -> None:
        self._report.differences.append(f"{_named(version)}: {why}")


class _Comparison:
    def __init__(self, store: RegistryStore, service: RegistryService) -> None:
        self._store = store
        self._service = service
        self._report = TransferReport()
        self._unseen: dict[str, VersionHead] = {}

    def run(self, records: Iterable[Mapping[str, Any]]) -> TransferReport:
        for record in records:
            if record["kind"] == "version":
                self._report.versions += 1
                self._version(record)
            else:
                self._end_of_schema()
                if record["kind"] == "schema":
                    self._schema(record)
                else:
                    self._report.differences.extend(_registry_differences(self._store, record))
        self._end_of_schema()
        return self._report

    def _schema(self, record: Mapping[str, Any]) -> None:
        self._report.differences.extend(_schema_differences(self._store, record))
        key = _read_schema(record).key
        after: int | None = None
        while heads := self._store.versions.list(key, after, _PAGE, deleted=True):
            self._unseen.update((head.id, head) for head in heads)
            after = heads[-1].number

    def _version(self, record: Mapping[str, Any]) -> None:
        stored = self._store.versions.get(str(record["id"]))
        self._unseen.pop(str(record["id"]), None)
        if stored is None or self._store.schemas.get(SchemaKey(record["registry"], record["schema"])) is None:
            self._add_difference(
                f"Version {record['number']} of schema {record['schema']} in registry {record['registry']} is not here, "
                f"with id {record['id']}."
            )
            return
        version, metadata = _read_version(self._service, record)
        for what in ("key", "number", "status", "definition", "created", "deleted", "contract"):
            if getattr(stored, what) != getattr(version, what):
                self._add_difference(f"{_named(version)}: its {what} differs here.")
        pairs = {(pair.key, pair.value) for pair in self._store.metadata.list(version.id)}
        if pairs != {(pair.key, pair.value) for pair in metadata}:
            self._add_difference(f"{_named(version)}: its metadata differs here.")

    def _end_of_schema(self) -> None:
        for head in self._unseen.values():
            self._add_difference(f"{_named(head)}: it is here, but not in the source.")
        self._unseen = {}

    def _add_difference(self, difference: str) -> None:
        self._report.differences.append(difference)


def _registry_differences(store: RegistryStore, record: Mapping[str, Any]) -> Iterator[str]:
    name = record["name"]
    stored = store.registries.get(name)
    if stored is None:
        yield f"Registry {name} is not here."
    elif (stored.description, store.tags.get(registry_resource(name))) != (record["description"], record["tags"]):
        yield f"Registry {name} has another description or other tags here."


def _schema_differences(store: RegistryStore, record: Mapping[str, Any]) -> Iterator[str]:
    schema = _read_schema(record)
    name = f"Schema {schema.key.name} in registry {schema.key.registry}"
    stored = store.schemas.get(schema.key)
    if stored is None:
        yield f"{name} is not here."
        return
    for what in ("data_format", "compatibility", "checkpoint", "description"):
        here, there = getattr(stored, what), getattr(schema, what)
        if here != there:
            yield f"{name} has {what.replace('_', ' ')} {here or 'none'} here, {there or 'none'} in the source."
    if store.tags.get(schema_resource(schema.key)) != record["tags"]:
        yield f"{name} has other tags here."


def _records(lines: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield line number and record, after the header."""
    remedy = "Give a file that 'penstock registry export' made."
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            if len(line) > _MAX_LINE:
                raise ValueError
            record = json.loads(line)
            record_type = record["kind"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise DataProblem(f"Line {number} is not a record of an export.", remedy=remedy) from None
        if (number == 1) != (record_type == "header"):
            raise DataProblem("The file does not begin with an export's header.", remedy=remedy)
        if record_type != "header":
            yield number, record
        elif record != HEADER:
            raise DataProblem("The export is of another kind or version.", remedy=remedy)


def _named(version: VersionHead) -> str:
    return f"Version {version.number} of schema {version.key.name} in registry {version.key.registry}"


def _read_schema(record: Mapping[str, Any]) -> Schema:
    mode = record["compatibility"]
    return Schema(
        key=SchemaKey(record["registry"], record["name"]),
        data_format=record["data_format"],
        compatibility=None if mode is None else CompatibilityMode(mode),
        description=record["description"],
        checkpoint=record["checkpoint"],
        next_number=record["next_number"],
        created=_time(record["created"]),
        updated=_time(record["updated"]),
    )


def _read_version(service: RegistryService, record: Mapping[str, Any]) -> tuple[Version, list[Metadata]]:
    key = SchemaKey(record["registry"], record["schema"])
    verdict, deleted = record["verdict"], record["deleted"]
    version = Version(
        id=str(record["id"]),
        key=key,
        number=_bounded(record["number"]),
        status=record["status"],
        data_format=service.schemas.get(key).data_format,
        created=_time(record["created"]),
        schema_id=int(record["serial"]),
        deleted=None if deleted is None else _time(deleted),
        definition=record["definition"],
        fingerprint="",
        verdict=None if verdict is None else _verdict(verdict),
        references=tuple(Reference(**reference) for reference in record["references"]),
        # Exports of earlier releases and of Glue have none.
        contract=None if record.get("contract") is None else canonical_contract(record["contract"]),
    )
    pairs = [Metadata(key=pair["key"], value=pair["value"], created=_time(pair["created"])) for pair in record["metadata"]]
    return version, pairs


def _verdict(value: Mapping[str, Any]) -> CompatibilityVerdict:
    return CompatibilityVerdict(
        mode=CompatibilityMode(value["mode"]),
        checked=tuple(value["checked"]),
        conflicts=tuple(Conflict.from_json(conflict) for conflict in value["conflicts"]),
    )


def _bounded(number: int) -> int:
    if not 1 <= number <= MAX_VERSION:
        raise ValueError(number)
    return number


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)

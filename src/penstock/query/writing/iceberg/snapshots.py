"""A new snapshot: its manifests and manifest list, and the updates that add it to the table's metadata.

Source: Iceberg table specification, "Manifests", "Manifest Lists", "Snapshots".
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.manifest import (
    DataFile,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector, Summary, update_snapshot_summaries

from penstock.lake.iceberg.table_metadata import now_ms
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.planning import manifests_of, read_entries

__all__ = ["Change", "snapshot_updates"]

_CODEC = "write.avro.compression-codec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a snapshot adds to its parent and removes from it."""

    operation: Operation
    added: Sequence[DataFile] = ()
    """Data files under the current spec."""
    deletes: Sequence[DataFile] = ()
    """Files of position deletes."""
    removed: Collection[str] = frozenset()
    """Locations of data files and delete files that are not in it any more."""
    sequence: int | None = None
    """The data sequence number of the added files, if it is not the snapshot's own: rewritten rows are not new."""
    properties: Mapping[str, str] = field(default_factory=dict)


class _DeleteManifestWriter(ManifestWriterV2):
    """pyiceberg's writer, for manifests of deletes, which it has none for."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def snapshot_updates(metadata: TableMetadata, change: Change, io: LakeIO) -> list[Mapping[str, Any]]:
    """Write the manifests of a snapshot on top of the current one; return the updates that commit it."""
    builder = _Builder(metadata, change, io)
    snapshot = builder.snapshot()
    return [
        {"action": "add-snapshot", "snapshot": snapshot},
        {
            "action": "set-snapshot-ref",
            "ref-name": "main",
            "type": "branch",
            "snapshot-id": snapshot["snapshot-id"],
            **_retention(metadata),
        },
    ]


def _retention(metadata: TableMetadata) -> dict[str, int]:
    """Return what the branch keeps of its snapshots, which a commit does not change."""
    main = metadata.refs.get("main")
    if main is None:
        return {}
    retention = {
        "min-snapshots-to-keep": main.min_snapshots_to_keep,
        "max-snapshot-age-ms": main.max_snapshot_age_ms,
        "max-ref-age-ms": main.max_ref_age_ms,
    }
    return {name: value for name, value in retention.items() if value is not None}


class _Builder:
    def __init__(self, metadata: TableMetadata, change: Change, io: LakeIO) -> None:
        self._metadata = metadata
        self._change = change
        self._io = io
        self._id = metadata.new_snapshot_id()
        self._uuid = uuid.uuid4()
        self._count = 0
        self._parent = metadata.current_snapshot()
        self._codec: Any = metadata.properties.get(_CODEC, "gzip")
        self._folder = metadata.properties.get("write.metadata.path", f"{metadata.location}/metadata").rstrip("/")
        self._removed: list[DataFile] = []

    def snapshot(self) -> dict[str, Any]:
        """Write all files of the snapshot, and return its entry in the metadata."""
        version = self._metadata.format_version
        manifests = [*self._added(), *self._deletes(), *self._kept()]
        sequence = self._metadata.next_sequence_number()
        location = f"{self._folder}/snap-{self._id}-0-{self._uuid}.avro"
        parent = self._parent.snapshot_id if self._parent is not None else None
        with write_manifest_list(version, self._io.new_output(location), self._id, parent, sequence, self._codec) as writer:
            writer.add_manifests(manifests)
        snapshot = {
            "snapshot-id": self._id,
            "manifest-list": location,
            "sequence-number": sequence,
            "timestamp-ms": max(now_ms(), self._metadata.last_updated_ms),
            "summary": self._summary(),
            "schema-id": self._metadata.current_schema_id,
        }
        return snapshot if parent is None else {**snapshot, "parent-snapshot-id": parent}

    def _added(self) -> Iterable[ManifestFile]:
        if not self._change.added:
            return []
        spec = self._metadata.spec()
        with write_manifest(
            self._metadata.format_version, spec, self._metadata.schema(), self._output(), self._id, self._codec
        ) as writer:
            for data_file in self._change.added:
                writer.add_entry(self._new_entry(data_file, self._change.sequence))
        return [writer.to_manifest_file()]

    def _deletes(self) -> Iterable[ManifestFile]:
        manifests = []
        for spec_id in sorted({delete.spec_id for delete in self._change.deletes}):
            spec = self._metadata.specs()[spec_id]
            with _DeleteManifestWriter(spec, self._schema_of(spec), self._output(), self._id, self._codec) as writer:
                for delete in self._change.deletes:
                    if delete.spec_id == spec_id:
                        writer.add_entry(self._new_entry(delete, None))
            manifests.append(writer.to_manifest_file())
        return manifests

    def _kept(self) -> Iterable[ManifestFile]:
        """Return the parent's manifests; those with removed files are written anew."""
        manifests = manifests_of(self._parent, self._io)
        if not self._change.removed:
            return [manifest for manifest in manifests if manifest.has_added_files() or manifest.has_existing_files()]
        kept = []
        for manifest in manifests:
            entries = read_entries(manifest, self._io)
            if not entries:
                continue
            gone = [entry for entry in entries if entry.data_file.file_path in self._change.removed]
            if not gone:
                kept.append(manifest)
                continue
            self._removed += [entry.data_file for entry in gone]
            kept.append(self._rewritten(manifest, entries))
        return kept

    def _rewritten(self, manifest: ManifestFile, entries: Sequence[ManifestEntry]) -> ManifestFile:
        spec = self._metadata.specs()[manifest.partition_spec_id]
        schema = self._schema_of(spec)
        if manifest.content == ManifestContent.DELETES:
            writer: Any = _DeleteManifestWriter(spec, schema, self._output(), self._id, self._codec)
        else:
            version = self._metadata.format_version
            writer = write_manifest(version, spec, schema, self._output(), self._id, self._codec)
        with writer:
            for entry in entries:
                gone = entry.data_file.file_path in self._change.removed
                (writer.delete if gone else writer.existing)(_as_written(entry))
        return writer.to_manifest_file()  # type: ignore[no-any-return]

    def _new_entry(self, file: DataFile, sequence: int | None) -> ManifestEntry:
        return ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED,
            snapshot_id=self._id,
            sequence_number=sequence,
            file_sequence_number=None,
            data_file=file,
        )

    def _schema_of(self, spec: PartitionSpec) -> Schema:
        """Return the newest schema that has all columns of the spec; some may be dropped since."""
        sources = {field.source_id for field in spec.fields}
        for schema in (self._metadata.schema(), *reversed(self._metadata.schemas)):
            if sources <= set(schema.field_ids):
                return schema
        return self._metadata.schema()

    def _output(self) -> Any:
        self._count += 1
        return self._io.new_output(f"{self._folder}/{self._uuid}-m{self._count - 1}.avro")

    def _summary(self) -> dict[str, str]:
        collector = SnapshotSummaryCollector()
        specs = self._metadata.specs()
        for delete in (*self._change.added, *self._change.deletes):
            spec = specs[delete.spec_id]
            collector.add_file(delete, self._schema_of(spec), spec)
        for data_file in self._removed:
            spec = specs[data_file.spec_id]
            collector.remove_file(data_file, self._schema_of(spec), spec)
        # pyiceberg adds up the totals for each operation but REPLACE.
        summary = Summary(operation=Operation.OVERWRITE, **collector.build(), **self._change.properties)
        before = self._parent.summary if self._parent is not None else None
        totals = update_snapshot_summaries(summary, before.additional_properties if before is not None else None)
        return {"operation": self._change.operation.value, **totals.additional_properties}


def _as_written(entry: ManifestEntry) -> ManifestEntry:
    """Return an entry in the members of format version 2, which pyiceberg writes."""
    file = DataFile(*entry.data_file._data[:16])
    file.spec_id = entry.data_file.spec_id
    return ManifestEntry.from_args(
        status=entry.status,
        snapshot_id=entry.snapshot_id,
        sequence_number=entry.sequence_number,
        file_sequence_number=entry.file_sequence_number,
        data_file=file,
    )

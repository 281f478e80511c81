"""From a snapshot to the data files that a query needs, each with the deletes that apply to it.

Source: Iceberg table specification, "Scan Planning". pyiceberg evaluates conditions over partition summaries, partition
values and bounds of columns; which deletes apply is decided here, because its own planner refuses equality deletes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from pyiceberg.avro.file import AvroFile
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.visitors import (
    _InclusiveMetricsEvaluator,
    expression_evaluator,
    inclusive_projection,
    manifest_evaluator,
)
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    read_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import NestedField

from penstock.sql.errors import StatementError

__all__ = ["DeleteFile", "FileTask", "ScanPlan", "manifests_of", "plan_files", "read_entries", "whole_schema"]

MAX_MANIFESTS = 20_000
_PATH_ID = 2147483546  # the reserved id of file_path in position deletes
_FORMAT = 3
# Places of version 3's members in a manifest's record, which pyiceberg has no names for.
_MEMBERS = {nested_field.name: at for at, nested_field in enumerate(DATA_FILE_TYPE[_FORMAT].fields)}


@dataclass(frozen=True, slots=True, eq=False)
class DeleteFile:
    """A file of deletes: of positions (Parquet, or a deletion vector) or of values."""

    file: DataFile
    sequence: int
    references: str | None = None
    """The only data file that it is about, if it says so."""
    offset: int | None = None
    """Where a deletion vector begins in its file, in bytes."""
    length: int | None = None

    @property
    def vector(self) -> bool:
        """Whether it is a deletion vector."""
        return self.file.file_format == FileFormat.PUFFIN


@dataclass(slots=True, eq=False)
class FileTask:
    """A data file to read, and what deletes rows of it."""

    entry: ManifestEntry
    positions: list[DeleteFile] = field(default_factory=list)
    equalities: list[DeleteFile] = field(default_factory=list)

    @property
    def file(self) -> DataFile:
        """The data file."""
        return self.entry.data_file

    @property
    def sequence(self) -> int:
        """The data sequence number."""
        return self.entry.sequence_number or 0


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """The files of a scan, and how many there would be without conditions, as far as manifests were opened."""

    tasks: Sequence[FileTask]
    files_seen: int
    manifests_read: int
    partitions_read: int
    partitions_seen: int


def manifests_of(snapshot: Snapshot | None, io: FileIO) -> list[ManifestFile]:
    """Return the manifests of a snapshot. Raises :class:`StatementError` for more than :data:`MAX_MANIFESTS`."""
    if snapshot is None:
        return []
    if not snapshot.manifest_list:
        raise StatementError("NOT_SUPPORTED", "The snapshot has no manifest list: it is in an old form of version 1.")
    manifests = list(read_manifest_list(io.new_input(snapshot.manifest_list)))
    if len(manifests) > MAX_MANIFESTS:
        raise StatementError(
            "EXCEEDED_RESULT_LIMIT",
            f"The snapshot has {len(manifests):,} manifests; the limit is {MAX_MANIFESTS:,}.",
            remedy="Run OPTIMIZE on the table.",
        )
    return manifests


def read_entries(manifest: ManifestFile, io: FileIO, *, live: bool = True) -> list[ManifestEntry]:
    """Return a manifest's entries, only those of live files unless told otherwise, with what they inherit from it."""
    with AvroFile[ManifestEntry](
        io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[_FORMAT],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as reader:
        entries = [
            manifest_entry for manifest_entry in reader if not live or manifest_entry.status != ManifestEntryStatus.DELETED
        ]
    for entry in entries:
        inherits = manifest.sequence_number == 0 or entry.status == ManifestEntryStatus.ADDED
        if entry.snapshot_id is None and manifest.added_snapshot_id is not None:
            entry.snapshot_id = manifest.added_snapshot_id
        if entry.sequence_number is None and inherits:
            entry.sequence_number = manifest.sequence_number
        if entry.file_sequence_number is None and inherits:
            entry.file_sequence_number = manifest.sequence_number
        entry.data_file.spec_id = manifest.partition_spec_id
    return entries


def whole_schema(metadata: TableMetadata, schema: Schema) -> Schema:
    """Return ``schema`` with the columns of the table's other schemas added, under names that no query has.

    Files are partitioned, and have deletes, by columns that the schema no longer has.
    """
    ids = set(schema.field_ids)
    added: dict[int, NestedField] = {}
    for other in reversed(metadata.schemas):
        for column in other.fields:
            if column.field_id not in ids and column.field_id not in added:
                added[column.field_id] = NestedField(
                    column.field_id, f"__dropped_{column.field_id}", column.field_type, required=False
                )
    return Schema(*schema.fields, *added.values(), schema_id=schema.schema_id) if added else schema


def plan_files(
    metadata: TableMetadata, snapshot: Snapshot | None, schema: Schema, condition: BooleanExpression, io: FileIO
) -> ScanPlan:
    """Return the files that may have rows that meet ``condition``, which is bound to ``schema``."""
    pruning = _Pruning(metadata, whole_schema(metadata, schema), condition)
    manifests = [
        manifest_file
        for manifest_file in manifests_of(snapshot, io)
        if pruning.manifest(manifest_file.partition_spec_id)(manifest_file)
    ]
    tasks: list[FileTask] = []
    file_count = 0
    partitions: set[object] = set()
    for manifest in manifests:
        if manifest.content != ManifestContent.DATA:
            continue
        entries = read_entries(manifest, io)
        file_count += len(entries)
        partitions.update((manifest.partition_spec_id, entry.data_file.partition) for entry in entries)
        keep = pruning.partition(manifest.partition_spec_id)
        tasks += [FileTask(entry) for entry in entries if keep(entry.data_file) and pruning.metrics(entry.data_file)]
    oldest = min((task.sequence for task in tasks), default=0)
    deletes = [
        manifest_file
        for manifest_file in manifests
        if manifest_file.content == ManifestContent.DELETES and (manifest_file.sequence_number or 0) >= oldest
    ]
    _attach(tasks, [entry for manifest in (deletes if tasks else ()) for entry in read_entries(manifest, io)], metadata)
    return ScanPlan(
        tasks=tasks,
        files_seen=file_count,
        manifests_read=len(manifests),
        partitions_read=len({(task.file.spec_id, task.file.partition) for task in tasks}),
        partitions_seen=len(partitions),
    )


class _Pruning:
    """The evaluators of one condition, by partition spec."""

    def __init__(self, metadata: TableMetadata, schema: Schema, condition: BooleanExpression) -> None:
        self._metadata = metadata
        self._schema = schema
        self._condition = condition
        self.metrics: Callable[[DataFile], bool] = lambda _: True
        if not isinstance(condition, AlwaysTrue):
            self.metrics = _InclusiveMetricsEvaluator(schema, condition, True).eval
        self.manifest = cache(self._manifest)
        self.partition = cache(self._partition)

    def _projected(self, spec_id: int) -> BooleanExpression:
        return inclusive_projection(self._schema, self._metadata.specs()[spec_id], True)(self._condition)

    def _manifest(self, spec_id: int) -> Callable[[ManifestFile], bool]:
        if isinstance(self._condition, AlwaysTrue):
            return lambda _: True
        return manifest_evaluator(self._metadata.specs()[spec_id], self._schema, self._projected(spec_id), True)

    def _partition(self, spec_id: int) -> Callable[[DataFile], bool]:
        if isinstance(self._condition, AlwaysTrue):
            return lambda _: True
        type_ = self._metadata.specs()[spec_id].partition_type(self._schema)
        evaluate = expression_evaluator(Schema(*type_.fields), self._projected(spec_id), True)
        return lambda file: evaluate(file.partition)


def _attach(tasks: Sequence[FileTask], entries: Sequence[ManifestEntry], metadata: TableMetadata) -> None:
    """Give each task the deletes that apply: of positions from its own commit on, of values from later commits only."""
    by_path: dict[str, list[DeleteFile]] = {}
    by_partition: dict[object, list[DeleteFile]] = {}
    equalities: dict[object, list[DeleteFile]] = {}
    everywhere: list[DeleteFile] = []
    for entry in entries:
        delete, file = _delete_file(entry), entry.data_file
        partition = (file.spec_id, file.partition)
        if file.content == DataFileContent.EQUALITY_DELETES:
            if metadata.specs()[file.spec_id].is_unpartitioned():
                everywhere.append(delete)
            else:
                equalities.setdefault(partition, []).append(delete)
        elif delete.references is not None:
            by_path.setdefault(delete.references, []).append(delete)
        else:
            by_partition.setdefault(partition, []).append(delete)
    for task in tasks:
        partition = (task.file.spec_id, task.file.partition)
        positions = [*by_path.get(task.file.file_path, ()), *by_partition.get(partition, ())]
        applying = [position for position in positions if position.sequence >= task.sequence]
        vectors = [item for item in applying if item.vector]
        # A deletion vector has all positions of its file; what older files of positions say is in it.
        task.positions = vectors or applying
        task.equalities = [item for item in (*equalities.get(partition, ()), *everywhere) if item.sequence > task.sequence]


def _delete_file(entry: ManifestEntry) -> DeleteFile:
    file = entry.data_file
    if file.content not in {DataFileContent.POSITION_DELETES, DataFileContent.EQUALITY_DELETES}:
        raise StatementError("NOT_SUPPORTED", f"A manifest of deletes has a file of an unknown kind: {file.file_path}")
    references = file._data[_MEMBERS["referenced_data_file"]]
    if references is None and file.content == DataFileContent.POSITION_DELETES:
        lower, upper = ((bounds or {}).get(_PATH_ID) for bounds in (file.lower_bounds, file.upper_bounds))
        # Bounds may be cut; equal ones that are a whole path name the only file.
        if lower is not None and lower == upper and file.file_format != FileFormat.PUFFIN:
            references = None if len(lower) < 17 else lower.decode("utf-8", "replace")
    return DeleteFile(
        file,
        entry.sequence_number or 0,
        references,
        file._data[_MEMBERS["content_offset"]],
        file._data[_MEMBERS["content_size_in_bytes"]],
    )

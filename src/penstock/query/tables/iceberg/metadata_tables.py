"""What an Iceberg table's metadata says, as tables: ``"t$history"``, ``"t$snapshots"``, ``"t$files"`` and the others.

Names and types of the columns: Trino documentation, "Iceberg connector", "Metadata tables", which Athena serves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DateType,
    IcebergType,
    NestedField,
    PrimitiveType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from penstock.catalog.model import Column, StorageDescriptor, Table
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.planning import manifests_of, read_entries, whole_schema
from penstock.query.tables.iceberg.state import IcebergState, Version, load, read_version
from penstock.query.tables.iceberg.types import lake_type
from penstock.query.tables.port import SCHEMA, LakeReader, ScanRequest, TableReference
from penstock.query.tables.port import DataFile as ReadFile
from penstock.query.tables.restricted import check_whole
from penstock.sql.types import quote_name
from penstock.types import arrow, hive

__all__ = ["METADATA_TABLES", "MetadataTable"]

_LONG, _INT, _TEXT, _BOOL = pa.int64(), pa.int32(), pa.string(), pa.bool_()
_WHEN = pa.timestamp("ms", "UTC")
_COUNTS, _BOUNDS = pa.map_(_INT, _LONG), pa.map_(_INT, _TEXT)
_SUMMARIES = pa.list_(
    pa.struct([("contains_null", _BOOL), ("contains_nan", _BOOL), ("lower_bound", _TEXT), ("upper_bound", _TEXT)])
)


@dataclass(frozen=True, slots=True)
class _Source:
    """What a metadata table is made from."""

    state: IcebergState
    version: Version
    io: LakeIO

    def manifests(self) -> Sequence[ManifestFile]:
        return manifests_of(self.version.snapshot, self.io)

    def entries(self) -> Iterable[ManifestEntry]:
        for manifest in self.manifests():
            yield from read_entries(manifest, self.io)


class MetadataTable:
    """One of the metadata tables of an Iceberg table."""

    def __init__(self, table: Table, what: str, reference: TableReference, reader: LakeReader) -> None:
        opened = reader.lake.of(table)
        state = load(table, opened)
        version = read_version(state, reference.version, reference.position, reader.engine)
        check_whole(table, [field.name.lower() for field in version.schema.fields], reference, reader)
        self._rows: pa.Table = METADATA_TABLES[what](_Source(state, version, LakeIO(opened)))
        self._name = f"{state.name}${what}"
        columns = [Column(name=item.name, type=hive.render(arrow.parse(item.type))) for item in self._rows.schema]
        self._table = Table(
            database=table.database,
            name=f"{table.name}${what}",
            version_id=table.version_id,
            storage=StorageDescriptor(columns=columns),
            create_time=table.create_time,
            update_time=table.update_time,
        )

    @property
    def table(self) -> Table:
        """The metadata table's columns."""
        return self._table

    def scan(self, request: ScanRequest) -> "MetadataScan":
        """Return all rows."""
        return MetadataScan(request.view, self._name, self._rows)


@dataclass(frozen=True, slots=True)
class MetadataScan:
    """The rows of a metadata table, which are in memory."""

    view: str
    name: str
    rows: pa.Table

    @property
    def files(self) -> Sequence[ReadFile]:
        """No files: metadata does not count as scanned, as in Athena."""
        return ()

    @property
    def partitions_read(self) -> int:
        """0."""
        return 0

    @property
    def partitions_total(self) -> int:
        """0."""
        return 0

    @property
    def route(self) -> str:
        """How EXPLAIN describes it."""
        return f"{len(self.rows)} rows of the metadata of {self.name}, read with pyiceberg"

    def install(self, engine: Any) -> None:
        """Copy the rows to a table of the engine."""
        engine.register("__penstock_metadata", self.rows)
        engine.execute(f"CREATE TABLE {SCHEMA}.{quote_name(self.view)} AS SELECT * FROM __penstock_metadata")  # noqa: S608 quoted
        engine.unregister("__penstock_metadata")


def _table(schema: Sequence[tuple[str, pa.DataType]], rows: Iterable[Sequence[Any]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, type_) for values, (_, type_) in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in schema])


def _history(source: _Source) -> pa.Table:
    metadata = source.state.metadata
    parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots}
    current, line = metadata.current_snapshot_id, set()
    while current is not None and current not in line:
        line.add(current)
        current = parents.get(current)
    schema = [("made_current_at", _WHEN), ("snapshot_id", _LONG), ("parent_id", _LONG), ("is_current_ancestor", _BOOL)]
    log = metadata.snapshot_log
    rows = [
        (
            snapshot_log_entry.timestamp_ms,
            snapshot_log_entry.snapshot_id,
            parents.get(snapshot_log_entry.snapshot_id),
            snapshot_log_entry.snapshot_id in line,
        )
        for snapshot_log_entry in log
    ]
    return _table(schema, rows)


def _snapshots(source: _Source) -> pa.Table:
    schema = [
        ("committed_at", _WHEN),
        ("snapshot_id", _LONG),
        ("parent_id", _LONG),
        ("operation", _TEXT),
        ("manifest_list", _TEXT),
        ("summary", pa.map_(_TEXT, _TEXT)),
    ]
    rows = []
    for snapshot in source.state.metadata.snapshots:
        operation = snapshot.summary.operation.value if snapshot.summary is not None else None
        summary = list(snapshot.summary.additional_properties.items()) if snapshot.summary is not None else None
        rows.append(
            (
                snapshot.timestamp_ms,
                snapshot.snapshot_id,
                snapshot.parent_snapshot_id,
                operation,
                snapshot.manifest_list,
                summary,
            )
        )
    return _table(schema, rows)


def _refs(source: _Source) -> pa.Table:
    schema = [
        ("name", _TEXT),
        ("type", _TEXT),
        ("snapshot_id", _LONG),
        ("max_reference_age_in_ms", _LONG),
        ("min_snapshots_to_keep", _INT),
        ("max_snapshot_age_in_ms", _LONG),
    ]
    rows = [
        (
            name,
            ref.snapshot_ref_type.value.upper(),
            ref.snapshot_id,
            ref.max_ref_age_ms,
            ref.min_snapshots_to_keep,
            ref.max_snapshot_age_ms,
        )
        for name, ref in source.state.metadata.refs.items()
    ]
    return _table(schema, rows)


def _manifests(source: _Source) -> pa.Table:
    schema = [
        ("path", _TEXT),
        ("length", _LONG),
        ("partition_spec_id", _INT),
        ("added_snapshot_id", _LONG),
        ("added_data_files_count", _INT),
        ("added_rows_count", _LONG),
        ("existing_data_files_count", _INT),
        ("existing_rows_count", _LONG),
        ("deleted_data_files_count", _INT),
        ("deleted_rows_count", _LONG),
        ("partition_summaries", _SUMMARIES),
    ]
    metadata = source.state.metadata
    whole = whole_schema(metadata, source.version.schema)
    rows = []
    for manifest in source.manifests():
        types = [field.field_type for field in metadata.specs()[manifest.partition_spec_id].partition_type(whole).fields]
        summaries = [
            {
                "contains_null": part.contains_null,
                "contains_nan": part.contains_nan,
                "lower_bound": _shown(type_, part.lower_bound),
                "upper_bound": _shown(type_, part.upper_bound),
            }
            for type_, part in zip(types, manifest.partitions or (), strict=False)
        ]
        rows.append(
            (
                manifest.manifest_path,
                manifest.manifest_length,
                manifest.partition_spec_id,
                manifest.added_snapshot_id,
                manifest.added_files_count,
                manifest.added_rows_count,
                manifest.existing_files_count,
                manifest.existing_rows_count,
                manifest.deleted_files_count,
                manifest.deleted_rows_count,
                summaries,
            )
        )
    return _table(schema, rows)


def _files(source: _Source) -> pa.Table:
    schema = [
        ("content", _INT),
        ("file_path", _TEXT),
        ("file_format", _TEXT),
        ("record_count", _LONG),
        ("file_size_in_bytes", _LONG),
        ("column_sizes", _COUNTS),
        ("value_counts", _COUNTS),
        ("null_value_counts", _COUNTS),
        ("nan_value_counts", _COUNTS),
        ("lower_bounds", _BOUNDS),
        ("upper_bounds", _BOUNDS),
        ("key_metadata", pa.binary()),
        ("split_offsets", pa.list_(_LONG)),
        ("equality_ids", pa.list_(_INT)),
    ]
    whole = whole_schema(source.state.metadata, source.version.schema)
    rows = []
    for entry in source.entries():
        file = entry.data_file
        counts = [
            _pairs(item) for item in (file.column_sizes, file.value_counts, file.null_value_counts, file.nan_value_counts)
        ]
        bounds = [_bounds(item, whole) for item in (file.lower_bounds, file.upper_bounds)]
        rows.append(
            (
                int(file.content),
                file.file_path,
                file.file_format.value,
                file.record_count,
                file.file_size_in_bytes,
                *counts,
                *bounds,
                file.key_metadata,
                file.split_offsets,
                file.equality_ids,
            )
        )
    return _table(schema, rows)


def _pairs(counts: Mapping[int, int] | None) -> list[tuple[int, int]] | None:
    return None if counts is None else sorted(counts.items())


def _bounds(bounds: Mapping[int, bytes] | None, schema: Schema) -> list[tuple[int, str]] | None:
    if bounds is None:
        return None
    known = {number: schema.find_type(number) for number in bounds if number in schema.field_ids}
    return [(number, _shown(type_, bounds[number]) or "") for number, type_ in sorted(known.items())]


def _shown(type_: IcebergType, bound: bytes | None) -> str | None:
    """Return a bound as Iceberg writes values for people."""
    if bound is None or not isinstance(type_, PrimitiveType):
        return None
    try:
        transform: IdentityTransform[Any] = IdentityTransform()
        return transform.to_human_string(type_, from_bytes(type_, bound))
    except (TypeError, ValueError):
        return None


def _partitions(source: _Source) -> pa.Table:
    """Group the data files by partition; a partition field that a file's spec does not have is NULL."""
    metadata, schema = source.state.metadata, source.version.schema
    whole = whole_schema(metadata, schema)
    fields: dict[int, NestedField] = {}
    for spec in metadata.specs().values():
        for field in spec.partition_type(whole).fields:
            fields.setdefault(field.field_id, field)
    groups: dict[tuple[Any, ...], list[DataFile]] = {}
    for entry in source.entries():
        file = entry.data_file
        if file.content is DataFileContent.DATA:
            own = {field.field_id: file.partition[at] for at, field in enumerate(metadata.specs()[file.spec_id].fields)}
            groups.setdefault(tuple(own.get(number) for number in fields), []).append(file)
    arrays: dict[str, pa.Array] = {}
    if fields:
        parts = [_values(field.field_type, [key[at] for key in groups]) for at, field in enumerate(fields.values())]
        arrays["partition"] = pa.StructArray.from_arrays(parts, names=[field.name for field in fields.values()])
    files = list(groups.values())
    arrays["record_count"] = pa.array([sum(data_file.record_count for data_file in group) for group in files], _LONG)
    arrays["file_count"] = pa.array([len(group) for group in files], _LONG)
    arrays["total_size"] = pa.array([sum(data_file.file_size_in_bytes for data_file in group) for group in files], _LONG)
    sources = {field.source_id for spec in metadata.specs().values() for field in spec.fields}
    shown = [
        field for field in schema.fields if isinstance(field.field_type, PrimitiveType) and field.field_id not in sources
    ]
    if shown:
        columns = [_column_metrics(nested_field, files) for nested_field in shown]
        arrays["data"] = pa.StructArray.from_arrays(columns, names=[nested_field.name.lower() for nested_field in shown])
    return pa.table(arrays)


def _column_metrics(field: NestedField, groups: Sequence[Sequence[DataFile]]) -> pa.Array:
    """Return the bounds and counts of a column in each group; what one file does not tell, the group does not."""
    lows, highs, nulls, nans = [], [], [], []
    for group in groups:
        own = [_file_metrics(field, data_file) for data_file in group]
        low, high, null, nan = (list(entry) for entry in zip(*own, strict=True))
        lows.append(min(low) if None not in low else None)
        highs.append(max(high) if None not in high else None)
        nulls.append(sum(null) if None not in null else None)
        nans.append(sum(nan) if None not in nan else None)
    type_ = field.field_type
    return pa.StructArray.from_arrays(
        [_values(type_, lows), _values(type_, highs), pa.array(nulls, _LONG), pa.array(nans, _LONG)],
        names=["min", "max", "null_count", "nan_count"],
    )


def _file_metrics(field: NestedField, file: DataFile) -> tuple[Any, Any, int | None, int | None]:
    number = field.field_id
    bounds = [(entry or {}).get(number) for entry in (file.lower_bounds, file.upper_bounds)]
    type_ = field.field_type
    assert isinstance(type_, PrimitiveType)
    low, high = (from_bytes(type_, bound) if bound is not None else None for bound in bounds)
    return low, high, (file.null_value_counts or {}).get(number), (file.nan_value_counts or {}).get(number)


def _values(type_: IcebergType, values: Sequence[Any]) -> pa.Array:
    """Return values in pyiceberg's form, where dates are days and times microseconds, as an array."""
    if isinstance(type_, _COUNTED):
        numbers = pa.int32() if isinstance(type_, DateType) else pa.int64()
        return pa.array(values, pa.int64()).cast(numbers).cast(arrow.render(lake_type(type_)))
    if isinstance(type_, UUIDType):
        return pa.array([None if item is None else str(item) for item in values], _TEXT)
    array = pa.array(values)
    return array.cast(_TEXT) if pa.types.is_null(array.type) else array


_COUNTED = (DateType, TimeType, TimestampType, TimestamptzType)

METADATA_TABLES: Mapping[str, Callable[[_Source], pa.Table]] = {
    "history": _history,
    "snapshots": _snapshots,
    "refs": _refs,
    "manifests": _manifests,
    "files": _files,
    "partitions": _partitions,
}
"""By what follows the ``$``."""

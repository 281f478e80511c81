"""What an Iceberg table's metadata says, as tables: ``"t$history"``, ``"t$snapshots"``, ``"t$files"`` and the others.

Names and types of the columns: Trino documentation, "Iceberg connector", "Metadata tables", which Athena serves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
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
from penstock.query.tables.memory import MemoryScan
from penstock.query.tables.port import LakeReader, ScanRequest, TableReference
from penstock.query.tables.restricted import check_whole
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
        self.table = Table(
            database=table.database,
            name=f"{table.name}${what}",
            version_id=table.version_id,
            storage=StorageDescriptor(columns=columns),
            create_time=table.create_time,
            update_time=table.update_time,
        )
        """The metadata table's columns."""

    def scan(self, request: ScanRequest) -> MemoryScan:
        """Return all rows."""
        route = f"{len(self._rows)} rows of the metadata of {self._name}, read with pyiceberg"
        return MemoryScan(view=request.view, rows=self._rows, route=route)


_Column = tuple[str, pa.DataType, Callable[[Any], Any]]
"""The name of a column, its type, and how a row's value is read."""


def _table(rows: Iterable[Any], columns: Sequence[_Column]) -> pa.Table:
    rows = list(rows)
    arrays = [pa.array([read(row) for row in rows], type_) for _, type_, read in columns]
    return pa.Table.from_arrays(arrays, names=[name for name, _, _ in columns])


def _history(source: _Source) -> pa.Table:
    metadata = source.state.metadata
    parents = {snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots}
    current, line = metadata.current_snapshot_id, set()
    while current is not None and current not in line:
        line.add(current)
        current = parents.get(current)
    columns: Sequence[_Column] = [
        ("made_current_at", _WHEN, attrgetter("timestamp_ms")),
        ("snapshot_id", _LONG, attrgetter("snapshot_id")),
        ("parent_id", _LONG, lambda entry: parents.get(entry.snapshot_id)),
        ("is_current_ancestor", _BOOL, lambda entry: entry.snapshot_id in line),
    ]
    return _table(metadata.snapshot_log, columns)


_SNAPSHOTS: Sequence[_Column] = [
    ("committed_at", _WHEN, attrgetter("timestamp_ms")),
    ("snapshot_id", _LONG, attrgetter("snapshot_id")),
    ("parent_id", _LONG, attrgetter("parent_snapshot_id")),
    ("operation", _TEXT, lambda snapshot: None if snapshot.summary is None else snapshot.summary.operation.value),
    ("manifest_list", _TEXT, attrgetter("manifest_list")),
    (
        "summary",
        pa.map_(_TEXT, _TEXT),
        lambda snapshot: None if snapshot.summary is None else list(snapshot.summary.additional_properties.items()),
    ),
]
_REFS: Sequence[_Column] = [
    ("name", _TEXT, lambda ref: ref[0]),
    ("type", _TEXT, lambda ref: ref[1].snapshot_ref_type.value.upper()),
    ("snapshot_id", _LONG, lambda ref: ref[1].snapshot_id),
    ("max_reference_age_in_ms", _LONG, lambda ref: ref[1].max_ref_age_ms),
    ("min_snapshots_to_keep", _INT, lambda ref: ref[1].min_snapshots_to_keep),
    ("max_snapshot_age_in_ms", _LONG, lambda ref: ref[1].max_snapshot_age_ms),
]


def _manifests(source: _Source) -> pa.Table:
    metadata = source.state.metadata
    whole = whole_schema(metadata, source.version.schema)

    def summaries(manifest: ManifestFile) -> list[dict[str, Any]]:
        types = [field.field_type for field in metadata.specs()[manifest.partition_spec_id].partition_type(whole).fields]
        return [
            {
                "contains_null": part.contains_null,
                "contains_nan": part.contains_nan,
                "lower_bound": _shown(type_, part.lower_bound),
                "upper_bound": _shown(type_, part.upper_bound),
            }
            for type_, part in zip(types, manifest.partitions or (), strict=False)
        ]

    columns: Sequence[_Column] = [
        ("path", _TEXT, attrgetter("manifest_path")),
        ("length", _LONG, attrgetter("manifest_length")),
        ("partition_spec_id", _INT, attrgetter("partition_spec_id")),
        ("added_snapshot_id", _LONG, attrgetter("added_snapshot_id")),
        ("added_data_files_count", _INT, attrgetter("added_files_count")),
        ("added_rows_count", _LONG, attrgetter("added_rows_count")),
        ("existing_data_files_count", _INT, attrgetter("existing_files_count")),
        ("existing_rows_count", _LONG, attrgetter("existing_rows_count")),
        ("deleted_data_files_count", _INT, attrgetter("deleted_files_count")),
        ("deleted_rows_count", _LONG, attrgetter("deleted_rows_count")),
        ("partition_summaries", _SUMMARIES, summaries),
    ]
    return _table(source.manifests(), columns)


def _files(source: _Source) -> pa.Table:
    whole = whole_schema(source.state.metadata, source.version.schema)
    columns: Sequence[_Column] = [
        ("content", _INT, lambda file: int(file.content)),
        ("file_path", _TEXT, attrgetter("file_path")),
        ("file_format", _TEXT, attrgetter("file_format.value")),
        ("record_count", _LONG, attrgetter("record_count")),
        ("file_size_in_bytes", _LONG, attrgetter("file_size_in_bytes")),
        ("column_sizes", _COUNTS, lambda file: _pairs(file.column_sizes)),
        ("value_counts", _COUNTS, lambda file: _pairs(file.value_counts)),
        ("null_value_counts", _COUNTS, lambda file: _pairs(file.null_value_counts)),
        ("nan_value_counts", _COUNTS, lambda file: _pairs(file.nan_value_counts)),
        ("lower_bounds", _BOUNDS, lambda file: _bounds(file.lower_bounds, whole)),
        ("upper_bounds", _BOUNDS, lambda file: _bounds(file.upper_bounds, whole)),
        ("key_metadata", pa.binary(), attrgetter("key_metadata")),
        ("split_offsets", pa.list_(_LONG), attrgetter("split_offsets")),
        ("equality_ids", pa.list_(_INT), attrgetter("equality_ids")),
    ]
    return _table((entry.data_file for entry in source.entries()), columns)


def _pairs(counts: Mapping[int, int] | None) -> list[tuple[int, int]] | None:
    return None if counts is None else sorted(counts.items())


def _bounds(bounds: Mapping[int, bytes] | None, schema: Schema) -> list[tuple[int, str]] | None:
    if bounds is None:
        return None
    types = {number: schema.find_type(number) for number in bounds if number in schema.field_ids}
    return [(number, _shown(type_, bounds[number]) or "") for number, type_ in sorted(types.items())]


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
    "snapshots": lambda source: _table(source.state.metadata.snapshots, _SNAPSHOTS),
    "refs": lambda source: _table(source.state.metadata.refs.items(), _REFS),
    "manifests": _manifests,
    "files": _files,
    "partitions": _partitions,
}
"""By what follows the ``$``."""

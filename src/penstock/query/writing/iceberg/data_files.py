"""Rows of a query as Parquet files of an Iceberg table, by its partition spec, and positions as files of deletes.

Source: Iceberg table specification, "Partition Transforms" and "Position Delete Files". pyiceberg writes the files and
computes the bounds of their columns; its core computes the transforms.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.fileformat import FileFormatFactory
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.locations import load_location_provider
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform, VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.writing.iceberg.values import coerced
from penstock.sql.errors import StatementError

__all__ = ["DataWriter", "write_positions"]

_MAX_PARTITIONS = 100  # Athena's limit for one statement
_BUFFERED_ROWS = 122_880
_BUFFERED_BYTES = 32 << 20  # of one partition
_ALL_BUFFERED_BYTES = 128 << 20
_TARGET = "write.target-file-size-bytes"
_DEFAULT_TARGET = 512 << 20
_POSITIONS = Schema(
    NestedField(2147483546, "file_path", StringType(), required=True),
    NestedField(2147483545, "pos", LongType(), required=True),
)
_INTEGERS = {
    pa.date32(): pa.int32(),
    pa.timestamp("us"): pa.int64(),
    pa.timestamp("us", "UTC"): pa.int64(),
    pa.time64("us"): pa.int64(),
}


@dataclass(slots=True)
class _Partition:
    """The rows of one partition that are not written yet, and the file that is being written."""

    record: Record
    folder: str
    buffered: list[pa.Table] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    writer: Any = None
    output: Any = None


class DataWriter:
    """Writes rows to new data files of a table under its current schema and partition spec."""

    def __init__(self, metadata: TableMetadata, io: LakeIO) -> None:
        self._metadata = metadata
        self._io = io
        self._schema = metadata.schema()
        self._arrow: pa.Schema = schema_to_pyarrow(self._schema)
        self._spec: PartitionSpec = metadata.spec()
        self._places = load_location_provider(metadata.location, metadata.properties)
        self._target = int(metadata.properties.get(_TARGET, _DEFAULT_TARGET))
        self._partitions: dict[object, _Partition] = {}
        self.rows = 0
        """How many rows were added."""
        self.files: list[DataFile] = []
        """The files that are complete."""
        check_format(metadata)

    def add(self, columns: Mapping[str, pa.Array], rows: int) -> None:
        """Add rows: arrays by the names of the table's columns; a column that is not there is NULL."""
        arrays = []
        for column in self._schema.fields:
            values = columns.get(column.name)
            array = coerced(values if values is not None else pa.nulls(rows), column.field_type, column.name)
            if column.required and array.null_count:
                raise StatementError(
                    "CONSTRAINT_VIOLATION", f"NULL value not allowed for NOT NULL column: {column.name.lower()}"
                )
            arrays.append(array)
        table = pa.Table.from_arrays(arrays, schema=self._arrow)
        self.rows += rows
        for partition, part in self._split(table):
            partition.buffered.append(part)
            partition.rows += len(part)
            partition.size += part.nbytes
            if partition.rows >= _BUFFERED_ROWS or partition.size >= _BUFFERED_BYTES:
                self._flush(partition)
        if sum(item.size for item in self._partitions.values()) > _ALL_BUFFERED_BYTES:
            self._flush(max(self._partitions.values(), key=lambda item: item.size))

    def finish(self) -> list[DataFile]:
        """Complete all files and return them."""
        for partition in self._partitions.values():
            self._flush(partition)
            self._close(partition)
        return self.files

    def _split(self, table: pa.Table) -> Iterator[tuple[_Partition, pa.Table]]:
        fields = [field for field in self._spec.fields if not isinstance(field.transform, VoidTransform)]
        if not fields:
            yield self._partition(Record(*([None] * len(self._spec.fields)))), table
            return
        keys = {f"k{at}": self._key(table, field) for at, field in enumerate(fields)}
        numbered = pa.table({**keys, "row": pa.array(range(len(table)), pa.int64())})
        groups = numbered.group_by(list(keys), use_threads=False).aggregate([("row", "list")])
        places = [self._spec.fields.index(field) for field in fields]
        for group in groups.to_pylist():
            values: list[Any] = [None] * len(self._spec.fields)
            for at, place in enumerate(places):
                values[place] = group[f"k{at}"]
            yield self._partition(Record(*values)), table.take(group["row_list"])

    def _key(self, table: pa.Table, partition: Any) -> pa.Array:
        path = (self._schema.find_column_name(partition.source_id) or "").split(".")
        values = table.column(path[0]).combine_chunks()
        for name in path[1:]:
            values = pc.struct_field(values, name)
        source = self._schema.find_type(partition.source_id)
        if isinstance(partition.transform, IdentityTransform):
            plain = _INTEGERS.get(values.type)
            return values.cast(plain) if plain is not None else values
        if pa.types.is_large_binary(values.type):
            values = values.cast(pa.binary())  # the core truncates no other
        return partition.transform.pyarrow_transform(source)(values)

    def _partition(self, record: Record) -> _Partition:
        if record not in self._partitions:
            if len(self._partitions) >= _MAX_PARTITIONS:
                raise StatementError(
                    "ICEBERG_TOO_MANY_OPEN_PARTITIONS",
                    f"Exceeded limit of {_MAX_PARTITIONS} open writers for partitions",
                    remedy="Write the partitions by several statements.",
                )
            folder = self._spec.partition_to_path(record, self._schema) if self._spec.fields else ""
            self._partitions[record] = _Partition(record, folder)
        return self._partitions[record]

    def _flush(self, partition: _Partition) -> None:
        if not partition.buffered:
            return
        if partition.writer is None:
            name = f"{uuid.uuid4()}.parquet"
            location = self._places.new_data_location(f"{partition.folder}/{name}" if partition.folder else name)
            partition.output = self._io.new_output(location)
            partition.writer = FileFormatFactory.get(FileFormat.PARQUET).create_writer(
                partition.output, self._schema, self._metadata.properties
            )
        partition.writer.write(pa.concat_tables(partition.buffered))
        partition.buffered, partition.rows, partition.size = [], 0, 0
        if len(partition.output) >= self._target:
            self._close(partition)

    def _close(self, partition: _Partition) -> None:
        if partition.writer is None:
            return
        statistics = partition.writer.close()
        self.files.append(
            _data_file(DataFileContent.DATA, partition.output, self._spec.spec_id, partition.record, statistics)
        )
        partition.writer = partition.output = None


def check_format(metadata: TableMetadata) -> None:
    """Raise :class:`StatementError` unless the table's new files are Parquet."""
    format_ = metadata.properties.get("write.format.default", "parquet").lower()
    if format_ != "parquet":
        raise StatementError(
            "NOT_SUPPORTED",
            f"The table's new files are to be of format {format_}; only Parquet is written.",
            remedy="Set the property write.format.default (format) to parquet.",
        )


def write_positions(
    metadata: TableMetadata, io: LakeIO, deleted: Mapping[str, tuple[DataFile, Sequence[int]]]
) -> list[DataFile]:
    """Write files of position deletes, one a partition; ``deleted`` has data files and ascending positions by location."""
    groups: dict[tuple[int, Record], list[str]] = {}
    for location in sorted(deleted):
        file = deleted[location][0]
        groups.setdefault((file.spec_id, file.partition), []).append(location)
    places = load_location_provider(metadata.location, metadata.properties)
    files = []
    for (spec_id, record), locations in groups.items():
        spec = metadata.specs()[spec_id]
        folder = spec.partition_to_path(record, metadata.schema()) if spec.fields else ""
        name = f"{uuid.uuid4()}-deletes.parquet"
        output = io.new_output(places.new_data_location(f"{folder}/{name}" if folder else name))
        # Bounds of paths must not be cut, because readers find the deletes of a file by them.
        properties = {**metadata.properties, "write.metadata.metrics.default": "full"}
        writer = FileFormatFactory.get(FileFormat.PARQUET).create_writer(output, _POSITIONS, properties)
        schema = schema_to_pyarrow(_POSITIONS)
        for location in locations:
            positions = pa.array(deleted[location][1], pa.int64())
            paths = pa.array([location] * len(positions), pa.string()).cast(schema.field(0).type)
            writer.write(pa.Table.from_arrays([paths, positions], schema=schema))
        files.append(_data_file(DataFileContent.POSITION_DELETES, output, spec_id, record, writer.close()))
    return files


def _data_file(content: DataFileContent, output: Any, spec_id: int, record: Record, statistics: Any) -> DataFile:
    file = DataFile.from_args(
        content=content,
        file_path=output.location,
        file_format=FileFormat.PARQUET,
        partition=record,
        file_size_in_bytes=len(output),
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **statistics.to_serialized_dict(),
    )
    file.spec_id = spec_id
    return file

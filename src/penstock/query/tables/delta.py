"""Delta tables: the files of the newest version, read as a table of Parquet files is."""

from collections.abc import Sequence
from dataclasses import replace

from penstock.catalog.model import Column, Partition, SerDeInfo, StorageDescriptor, Table
from penstock.catalog.storage_classes import STORAGE_CLASSES
from penstock.errors import InvalidInput
from penstock.lake.delta_log import DeltaDamaged, DeltaRefused, DeltaState, read_log
from penstock.lake.partitions import HIVE_DEFAULT_PARTITION
from penstock.query.tables.hive_scan import HIDDEN_COLUMNS, HiveScan
from penstock.query.tables.port import DataFile, LakeReader, ScanRequest, TableReference, TableSource, too_many_files
from penstock.sql.errors import StatementError

__all__ = ["delta_table"]


def delta_table(table: Table, reference: TableReference, reader: LakeReader) -> TableSource:
    """Return the source of a Delta table. Raises :class:`StatementError`."""
    if reference.version is not None:
        raise StatementError("NOT_SUPPORTED", "Earlier versions of Delta tables are not read.", position=reference.position)
    return _DeltaTable(table, reader)


class _DeltaTable:
    """One version of a Delta table, whose columns are those of its log, not the catalog's."""

    def __init__(self, table: Table, reader: LakeReader) -> None:
        self._reader = reader
        self._name = f"{table.database}.{table.name}"
        serde = table.storage.serde_info
        self._location = ((serde.parameters.get("path") if serde else None) or table.storage.location or "").rstrip("/")
        self._opened = reader.lake.of(table)
        try:
            folder = self._opened.listable(f"{self._location}/_delta_log")
        except InvalidInput as error:
            raise StatementError("HIVE_INVALID_METADATA", error.message, remedy=error.remedy) from error
        try:
            self._state = read_log(folder, self._name, check=lambda files: self._opened.check([str(file) for file in files]))
        except DeltaRefused as error:
            raise StatementError("NOT_SUPPORTED", error.message, remedy=error.remedy) from error
        except DeltaDamaged as error:
            raise StatementError("DELTA_LAKE_INVALID_SCHEMA", error.message) from error
        self.table = _described(table, self._state, self._location)

    def scan(self, request: ScanRequest) -> HiveScan:
        keys = self._state.keys
        partitions, files = self._partitions()
        conditions = [condition.sql("duckdb") for condition in request.conditions({key.lower() for key in keys})]
        chosen: Sequence[int] = range(len(partitions))
        if keys and conditions and partitions:
            chosen = self._reader.engine.prune(self.table, partitions, conditions, request.outer)
        place = {old: new for new, old in enumerate(chosen)}
        read = [replace(file, partition=place[file.partition]) for file in files if file.partition in place]
        self._opened.check([file.path for file in read])
        if len(read) > request.max_files:
            raise too_many_files(self._name, "compact the table")
        return HiveScan(
            view=request.view,
            table=self.table,
            lake=self._opened.lake,
            partitions=[partitions[at] for at in chosen] if keys else (),
            partitions_total=len(partitions) if keys else 0,
            files=read if keys else [replace(file, partition=-1) for file in read],
            columns=request.columns,
            hidden=[name for name in HIDDEN_COLUMNS if name in request.hidden and name in {"$path", "$file_size"}],
        )

    def _partitions(self) -> tuple[Sequence[Partition], Sequence[DataFile]]:
        """Return the distinct partitions, and the files with the index of their partition."""
        numbers: dict[tuple[str, ...], int] = {}
        files = []
        for path, (size, values) in sorted(self._state.files.items()):
            key = tuple(values.get(name) or HIVE_DEFAULT_PARTITION for name in self._state.keys)
            files.append(DataFile(self._path(path), size, numbers.setdefault(key, len(numbers))))
        storage = StorageDescriptor(location=self._location)
        partitions = [
            Partition(
                database=self.table.database,
                table=self.table.name,
                values=list(values),
                storage=storage,
                create_time=self.table.create_time,
            )
            for values in numbers
        ]
        return partitions, files

    def _path(self, path: str) -> str:
        try:
            return str(self._opened.path(path if "://" in path else f"{self._location}/{path}"))
        except InvalidInput as error:
            raise StatementError("HIVE_INVALID_METADATA", error.message, remedy=error.remedy) from error


def _described(table: Table, state: DeltaState, location: str) -> Table:
    """Return the catalog's table with the columns of the log."""
    types = dict(state.columns)
    classes = STORAGE_CLASSES["PARQUET"]
    storage = StorageDescriptor(
        columns=[Column(name=name, type=type_) for name, type_ in state.columns if name not in state.keys],
        location=location,
        input_format=classes.input_format,
        serde_info=SerDeInfo(serialization_library=classes.serde),
    )
    keys = [Column(name=name, type=types[name]) for name in state.keys]
    return replace(table, storage=storage, partition_keys=keys)

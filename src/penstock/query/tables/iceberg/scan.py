"""An Iceberg table in a query: planned by its manifests, read by the engine, a view over the rows that are not deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from penstock.catalog.model import Column, StorageDescriptor, Table
from penstock.lake.permitted import PermittedFiles
from penstock.query.sparksql.reads import spark_columns, unread
from penstock.query.tables.iceberg.deletes import equality_sets, ids_of, load_equalities, load_positions, quoted_set
from penstock.query.tables.iceberg.filters import to_iceberg
from penstock.query.tables.iceberg.lake_io import LakeIO
from penstock.query.tables.iceberg.layouts import FileLayout, identity_values, read_name_mapping
from penstock.query.tables.iceberg.planning import FileTask, ScanPlan, plan_files, whole_schema
from penstock.query.tables.iceberg.state import IcebergState, Version, load, read_version
from penstock.query.tables.iceberg.types import all_fields, engine_type, hive_type
from penstock.query.tables.port import SCHEMA, DataFile, LakeReader, ScanRequest, TableReference, too_many_files
from penstock.sql.errors import StatementError
from penstock.sql.spark_query import IcebergRead
from penstock.sql.types import quote_name, quote_text

__all__ = ["FILE", "POSITION", "IcebergScan", "IcebergTable"]

PATH = "$path"
"""Trino's hidden column of a row's file."""
FILE, POSITION = "__penstock_file", "__penstock_pos"
"""Columns of a scan with positions: the data file's path, and the row's number in it, from 0."""
_ROW_NUMBER = "file_row_number"


class IcebergTable:
    """An Iceberg table at the version that a query names."""

    def __init__(self, table: Table, reference: TableReference, reader: LakeReader) -> None:
        self._reader = reader
        self._opened = reader.lake.of(table)
        self.state: IcebergState = load(table, self._opened)
        self.version: Version = read_version(self.state, reference.version, reference.position, reader.engine)
        self._positions = reference.positions
        self._fields = all_fields(self.version.schema)
        columns = [
            Column(
                name=field.name.lower(),
                type=hive_type(field.field_type, precise=True),
                comment=field.doc,
            )
            for field in self._fields
        ]
        if self._positions:
            columns += [Column(name=FILE, type="string"), Column(name=POSITION, type="bigint")]
        self._table = Table(
            database=table.database,
            name=table.name,
            version_id=table.version_id,
            storage=StorageDescriptor(columns=columns, location=self.state.metadata.location),
            table_type=table.table_type,
            parameters=table.parameters,
            create_time=table.create_time,
            update_time=table.update_time,
        )

    @property
    def table(self) -> Table:
        """The columns of the version's schema; partition fields are hidden, as Athena hides them."""
        return self._table

    def scan(self, request: ScanRequest) -> "IcebergScan":
        """Choose the data files by the query's conditions, and find what deletes rows of them."""
        schema = self.version.schema
        io = LakeIO(self._opened)
        conditions = request.conditions({field.name.lower() for field in self._fields})
        condition = to_iceberg(conditions, schema, outer=request.outer)
        plan = plan_files(self.state.metadata, self.version.snapshot, schema, condition, io)
        if len(plan.tasks) > request.max_files:
            raise too_many_files(self.state.name, "run OPTIMIZE on the table")
        fields = [field for field in self._fields if request.columns is None or field.name.lower() in request.columns]
        scan = IcebergScan(
            view=request.view,
            state=self.state,
            schema=schema,
            fields=fields,
            plan=plan,
            io=io,
            opened=self._opened,
            positions=self._positions,
            hidden=[PATH] if PATH in request.hidden else [],
            version=self.version,
        )
        self._opened.check([file.path for file in scan.files])
        return scan


@dataclass(slots=True, kw_only=True)
class _Group:
    """Files that are read by the same expressions."""

    columns: Sequence[str]
    keys: Mapping[int, str]
    """SQL for the columns that equality deletes compare, by id."""
    deleted: bool
    equalities: Sequence[tuple[int, ...]]
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergScan:
    """One reference to an Iceberg table in a query."""

    view: str
    state: IcebergState
    schema: Schema
    fields: Sequence[NestedField]
    plan: ScanPlan
    io: LakeIO
    opened: PermittedFiles
    """What asks whether a file may be opened."""
    positions: bool = False
    hidden: Sequence[str] = ()
    """The hidden columns that the view has."""
    version: Version | None = None
    """What is read, for Spark SQL, which plans the files itself."""

    def remote(self) -> IcebergRead:
        """Return what Spark SQL is to read instead of the view. Raises :class:`StatementError` for what it does not read."""
        if self.hidden:
            raise unread(self.state.name, f"the hidden column {self.hidden[0]}")
        assert self.version is not None
        snapshot, metadata = self.version.snapshot, self.state.metadata
        # Spark plans for itself, and may open a file that is left out here.
        every_file = plan_files(metadata, snapshot, self.schema, AlwaysTrue(), self.io)
        self.opened.check([file.path for file in replace(self, plan=every_file).files])
        current = snapshot == metadata.current_snapshot() and self.schema.schema_id == metadata.current_schema_id
        used = {field.name.lower() for field in self.fields}
        every = [Column(name=field.name.lower(), type=hive_type(field.field_type)) for field in all_fields(self.schema)]
        return IcebergRead(
            view=self.view,
            columns=spark_columns(self.state.name, every, lambda column: column.name in used),
            metadata=self.state.location,
            snapshot=None if current or snapshot is None else snapshot.snapshot_id,
        )

    @property
    def files(self) -> Sequence[DataFile]:
        """The data files, and the files of deletes that are read for them."""
        files = {}
        for task in self.plan.tasks:
            for data_file in (task.file, *(delete.file for delete in (*task.positions, *task.equalities))):
                files[data_file.file_path] = data_file.file_size_in_bytes
        return [DataFile(self.path(uri), size, -1) for uri, size in files.items()]

    @property
    def partitions_read(self) -> int:
        """How many partitions have a file that is read."""
        return self.plan.partitions_read

    @property
    def partitions_total(self) -> int:
        """How many partitions there are in the manifests that were opened."""
        return self.plan.partitions_seen

    @property
    def route(self) -> str:
        """How EXPLAIN describes the scan."""
        tasks = self.plan.tasks
        parts = [f"DuckDB reads {len(tasks)} of {self.plan.files_seen} Parquet files of Iceberg table {self.state.name}"]
        files_of_deletes = {
            "deletion vectors": {
                position.file.file_path for task in tasks for position in task.positions if position.vector
            },
            "position deletes": {
                position.file.file_path for task in tasks for position in task.positions if not position.vector
            },
            "equality deletes": {equality.file.file_path for task in tasks for equality in task.equalities},
        }
        parts += [
            f"without the rows of {len(files)} files of {deletes}" for deletes, files in files_of_deletes.items() if files
        ]
        return f"{', '.join(parts)}; planned with pyiceberg from {self.plan.manifests_read} manifests"

    def install(self, engine: Any) -> None:
        """Load the deletes and make the view."""
        tasks = self.plan.tasks
        deleted = [task for task in tasks if task.positions]
        if deleted:
            load_positions(engine, self._named("deleted"), deleted, self.path, self.io)
        fields = self._every_field()
        for ids, deletes in equality_sets(tasks).items():
            load_equalities(engine, f"{SCHEMA}.{quoted_set(ids, self.view)}", deletes, fields, self.path)
        if any(task.equalities for task in tasks):
            self._load_pairs(engine)
        parts = [self._group_sql(group) for group in self._groups(fields)]
        sql = " UNION ALL ".join(parts) if parts else self._empty()
        engine.execute(f"CREATE VIEW {SCHEMA}.{quote_name(self.view)} AS {sql}")

    def path(self, uri: str) -> str:
        """Return the path of a file of the lake."""
        return str(self.io.path(uri))

    def _named(self, what: str) -> str:
        return f"{SCHEMA}.{quote_name(f'{self.view}_{what}')}"

    def _every_field(self) -> Mapping[int, NestedField]:
        whole = whole_schema(self.state.metadata, self.schema)
        fields = {field.field_id: field for field in whole.fields}
        for ids in equality_sets(self.plan.tasks):
            if not fields.keys() >= set(ids):
                raise StatementError(
                    "NOT_SUPPORTED",
                    f"'{self.state.name}' has equality deletes by fields inside of columns.",
                    remedy="Compact the table with the engine that wrote it.",
                )
        return fields

    def _load_pairs(self, engine: Any) -> None:
        """Make a table of which equality deletes apply to which data files."""
        name = self._named("pairs")
        engine.execute(f"CREATE TABLE {name} (file VARCHAR, source VARCHAR)")
        pairs = [
            [self.path(task.file.file_path), self.path(equality.file.file_path)]
            for task in self.plan.tasks
            for equality in task.equalities
        ]
        engine.executemany(f"INSERT INTO {name} VALUES (?, ?)", pairs)  # noqa: S608 our own names

    def _groups(self, fields_by_id: Mapping[int, NestedField]) -> Sequence[_Group]:
        mapping = read_name_mapping(self.state.metadata.properties)
        specs = self.state.metadata.specs()
        types = {number: field.field_type for number, field in fields_by_id.items()}
        groups: dict[object, _Group] = {}
        for task in self.plan.tasks:
            path = self.path(task.file.file_path)
            self._check_format(task)
            layout = FileLayout(path, mapping)
            constants = identity_values(task.file, specs[task.file.spec_id], types)
            sets = tuple(sorted({ids_of(equality) for equality in task.equalities}))
            group = _Group(
                columns=tuple(layout.project(field, constants) for field in self.fields),
                keys={id_: layout.project(fields_by_id[id_], constants) for ids in sets for id_ in ids},
                deleted=bool(task.positions),
                equalities=sets,
            )
            key = (group.columns, tuple(group.keys.items()), group.deleted, sets)
            groups.setdefault(key, group).paths.append(path)
        return list(groups.values())

    def _check_format(self, task: FileTask) -> None:
        if task.file.file_format != FileFormat.PARQUET:
            raise StatementError(
                "NOT_SUPPORTED",
                f"'{self.state.name}' has data files of format {task.file.file_format.value}; only Parquet is supported.",
                remedy="Rewrite the table as Parquet, by the engine that wrote it.",
            )

    def _group_sql(self, group: _Group) -> str:
        """Return the query over a group's files."""
        names = [field.name.lower() for field in self.fields]
        columns = [f"{sql} AS {quote_name(name)}" for sql, name in zip(group.columns, names, strict=True)]
        columns += [f"{sql} AS __penstock_e{number}" for number, sql in group.keys.items()]
        located = self.positions or self.hidden or group.deleted or group.equalities
        if located:
            columns += [FILE, f"{_ROW_NUMBER} AS {POSITION}"]
        files = ", ".join(quote_text(path) for path in group.paths)
        options = f"filename='{FILE}', file_row_number=true, " if located else ""
        source = f"read_parquet([{files}], {options}hive_partitioning=false, union_by_name=false)"
        inner = f"SELECT {', '.join(columns) or '1'} FROM {source}"  # noqa: S608 quoted names
        if not located:
            return inner
        shown = [f"t.{quote_name(name)}" for name in names] + ([f"t.{FILE}", f"t.{POSITION}"] if self.positions else [])
        shown += [f"{self._uri('t.' + FILE)} AS {quote_name(name)}" for name in self.hidden]
        joins = ""
        if group.deleted:
            joins += f" ANTI JOIN {self._named('deleted')} d ON d.file = t.{FILE} AND d.pos = t.{POSITION}"
        for number, ids in enumerate(group.equalities):
            same = " AND ".join(f"q{number}.e{id_} IS NOT DISTINCT FROM t.__penstock_e{id_}" for id_ in ids)
            deletes = (
                f"(SELECT p.file, q.* FROM {self._named('pairs')} p "  # noqa: S608 quoted names
                f"JOIN {SCHEMA}.{quoted_set(ids, self.view)} q ON q.source = p.source)"
            )
            joins += f" ANTI JOIN {deletes} q{number} ON q{number}.file = t.{FILE} AND {same}"
        return f"SELECT {', '.join(shown) or '1'} FROM ({inner}) t{joins}"  # noqa: S608 quoted names

    def _empty(self) -> str:
        columns = [
            f"CAST(NULL AS {engine_type(field.field_type)}) AS {quote_name(field.name.lower())}" for field in self.fields
        ]
        if self.positions:
            columns += [f"CAST(NULL AS VARCHAR) AS {FILE}", f"CAST(NULL AS BIGINT) AS {POSITION}"]
        columns += [f"CAST(NULL AS VARCHAR) AS {quote_name(name)}" for name in self.hidden]
        return f"SELECT {', '.join(columns) or '1'} WHERE false"

    def _uri(self, column: str) -> str:
        """Return SQL for the location of the file whose path is in ``column``."""
        return f"concat('s3://', substr({column}, {len(str(self.io.root)) + 2}))"

"""``information_schema``: the databases, tables, columns and views that the caller may see, as tables.

Sources: Trino documentation, "System information schema"; what Athena's clients (PyAthena, dbt) read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from penstock.catalog.model import Column, Partition, StorageDescriptor, Table
from penstock.errors import NotFound
from penstock.lake.iceberg.glue_tables import current_columns
from penstock.query.ports import CATALOG_NAME, StatementCatalog
from penstock.query.tables.memory import MemoryScan
from penstock.query.tables.port import LakeReader, ScanRequest, TableReference, TableSource
from penstock.query.tables.shown import shown_table
from penstock.query.tables.views import VIEW_TYPE, read_view
from penstock.sql.engine_types import trino_text
from penstock.sql.errors import StatementError

__all__ = ["NAME", "schema_table", "schema_tables"]

NAME = "information_schema"
_CATALOG = CATALOG_NAME.lower()
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)  # the tables have no date; nothing shows it

_WHERE = {"table_catalog": "string", "table_schema": "string", "table_name": "string"}
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "schemata": {"catalog_name": "string", "schema_name": "string"},
    "tables": {**_WHERE, "table_type": "string"},
    "views": {**_WHERE, "view_definition": "string"},
    "columns": {
        **_WHERE,
        "column_name": "string",
        "ordinal_position": "bigint",
        "column_default": "string",
        "is_nullable": "string",
        "data_type": "string",
        "comment": "string",
        "extra_info": "string",
    },
}
_HIDDEN = {"columns": ("comment", "extra_info")}
"""Columns that ``*`` does not stand for."""
_REFUSED = frozenset({"applicable_roles", "enabled_roles", "roles", "table_privileges", "role_authorization_descriptors"})

Row = tuple[str | int | None, ...]


def schema_table(reference: TableReference, reader: LakeReader) -> TableSource:
    """Return a table of the schema. Raises :class:`StatementError` if it has none of this name."""
    name = reference.name
    if name.name in _REFUSED:
        raise StatementError(
            "NOT_SUPPORTED",
            f"{NAME}.{name.name} is not supported: access is controlled by IAM, not by roles of SQL.",
            position=reference.position,
        )
    if name.name not in _COLUMNS:
        what = f"{_CATALOG}.{NAME}.{name.name}"
        raise StatementError("TABLE_NOT_FOUND", f"Table '{what}' does not exist", position=reference.position)
    if reference.version is not None:
        raise StatementError("NOT_SUPPORTED", f"{NAME} has no versions.", position=reference.position)
    return _SchemaTable(_table(name.name), reader)


def schema_tables() -> Sequence[Table]:
    """Return the tables of the schema, as entries of the catalog."""
    return [_table(name) for name in _COLUMNS]


def _table(name: str) -> Table:
    columns = [Column(name=item, type=type_) for item, type_ in _COLUMNS[name].items()]
    return Table(
        database=NAME,
        name=name,
        version_id="0",
        storage=StorageDescriptor(columns=columns),
        table_type="EXTERNAL_TABLE",
        create_time=_BEGINNING,
        update_time=_BEGINNING,
    )


@dataclass(frozen=True, slots=True)
class _SchemaTable:
    """One table of the schema."""

    table: Table
    reader: LakeReader

    def scan(self, request: ScanRequest) -> MemoryScan:
        name, catalog = self.table.name, self.reader.catalog
        rows = list(_ROWS[name](_databases(self.table, self.reader, request), catalog))
        columns = {
            column: pa.array([row[at] for row in rows], pa.int64() if type_ == "bigint" else pa.string())
            for at, (column, type_) in enumerate(_COLUMNS[name].items())
        }
        return MemoryScan(
            view=request.view,
            rows=pa.table(columns),
            route=f"the catalog, {len(rows)} rows",
            hidden=_HIDDEN.get(name, ()),
            repeatable=False,
        )


def _databases(table: Table, reader: LakeReader, request: ScanRequest) -> Sequence[str]:
    """Return the databases that the query's conditions leave: listing the tables of all may be long."""
    names = [*(database.name for database in reader.catalog.databases()), NAME]
    key = "schema_name" if table.name == "schemata" else "table_schema"
    conditions = [condition.sql("duckdb") for condition in request.conditions([key])]
    if not conditions:
        return names
    keyed = Table(
        database=NAME,
        name=table.name,
        version_id="0",
        storage=StorageDescriptor(),
        partition_keys=[Column(name=key, type="string")],
        create_time=_BEGINNING,
        update_time=_BEGINNING,
    )
    parts = [
        Partition(database=NAME, table=table.name, values=[name], storage=StorageDescriptor(), create_time=_BEGINNING)
        for name in names
    ]
    return [names[at] for at in reader.engine.prune(keyed, parts, conditions, request.outer)]


def _tables_of(databases: Sequence[str], catalog: StatementCatalog) -> Iterator[Table]:
    for name in databases:
        try:
            yield from schema_tables() if name == NAME else catalog.visible_tables(name)
        except NotFound:
            continue  # dropped in the meantime


def _schemata(databases: Sequence[str], _catalog: StatementCatalog) -> Iterator[Row]:
    for name in databases:
        yield _CATALOG, name


def _tables(databases: Sequence[str], catalog: StatementCatalog) -> Iterator[Row]:
    for table in _tables_of(databases, catalog):
        yield _CATALOG, table.database, table.name, "VIEW" if table.table_type == VIEW_TYPE else "BASE TABLE"


def _views(databases: Sequence[str], catalog: StatementCatalog) -> Iterator[Row]:
    for table in _tables_of(databases, catalog):
        if table.table_type == VIEW_TYPE:
            try:
                definition = read_view(table).sql
            except StatementError:
                definition = None  # another engine's
            yield _CATALOG, table.database, table.name, definition


def _columns(databases: Sequence[str], catalog: StatementCatalog) -> Iterator[Row]:
    for table in _tables_of(databases, catalog):
        hidden = _HIDDEN.get(table.name, ()) if table.database == NAME else ()
        shown = table if table.database == NAME else shown_table(catalog, table)
        keys = [(partition_key, "partition key") for partition_key in table.partition_keys]
        declared = _declared(table)
        for at, (column, extra) in enumerate(
            [*((current_column, None) for current_column in current_columns(shown)), *keys], 1
        ):
            if column.name not in hidden:
                type_ = declared.get(column.name) or trino_text(column.type or "string")
                where = (_CATALOG, table.database, table.name)
                yield (*where, column.name, at, None, "YES", type_, column.comment, extra)


def _declared(table: Table) -> Mapping[str, str]:
    """Return the types that a view itself has for its columns."""
    if table.table_type != VIEW_TYPE:
        return {}
    try:
        return dict(read_view(table).columns)
    except StatementError:
        return {}


_ROWS: Mapping[str, Callable[[Sequence[str], StatementCatalog], Iterator[Row]]] = {
    "schemata": _schemata,
    "tables": _tables,
    "views": _views,
    "columns": _columns,
}

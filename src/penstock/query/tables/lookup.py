"""From a name in a query to its table, and from the table to what reads it, by what the catalog says of it."""

from collections.abc import Mapping
from dataclasses import replace

from penstock.catalog.model import Table
from penstock.errors import NotFound
from penstock.query.ports import CATALOG_NAME, StatementCatalog
from penstock.query.tables import information_schema
from penstock.query.tables.delta import delta_table
from penstock.query.tables.hive import hive_table
from penstock.query.tables.hive_metadata import HIVE_METADATA, hive_metadata
from penstock.query.tables.port import LakeReader, TableReference, TableSource
from penstock.query.tables.restricted import restricted
from penstock.query.tables.views import VIEW_TYPE, view_table
from penstock.sql.errors import Position, StatementError
from penstock.sql.names.suggestions import did_you_mean
from penstock.sql.statements.names import TableName

__all__ = ["find_database", "find_source", "find_table", "is_delta", "is_iceberg"]

_ICEBERG_METADATA = frozenset({"files", "history", "manifests", "partitions", "refs", "snapshots"})


def is_iceberg(table: Table) -> bool:
    """Return whether the catalog's table is an Iceberg table."""
    return table.parameters.get("table_type", "").upper() == "ICEBERG"


def is_delta(table: Table) -> bool:
    """Return whether the catalog's table is a Delta table."""
    return "delta" in {table.parameters.get(key, "").lower() for key in ("table_type", "spark.sql.sources.provider")}


def find_source(reference: TableReference, reader: LakeReader) -> TableSource:
    """Return the table that ``reference`` names. Raises :class:`StatementError` if it does not exist or cannot be read."""
    name = reference.name
    if name.database == information_schema.NAME and reader.catalog.is_named(name.catalog or CATALOG_NAME):
        return information_schema.schema_table(reference, reader)
    source = _metadata_table(reference, reader) if "$" in name.name else None
    return source or restricted(_source_of(_stored_table(reference, reader), reference, reader), reference, reader)


def _source_of(table: Table, reference: TableReference, reader: LakeReader) -> TableSource:
    if table.table_type == VIEW_TYPE:
        return view_table(table, reference, reader)
    if is_iceberg(table):
        from penstock.query.tables.iceberg.scan import IcebergTable  # noqa: PLC0415 - pyiceberg takes half a second

        return IcebergTable(table, reference, reader)
    return delta_table(table, reference, reader) if is_delta(table) else hive_table(table, reference, reader)


def _metadata_table(reference: TableReference, reader: LakeReader) -> TableSource | None:
    """Return the metadata table that ``table$what`` names, None if there is no such table."""
    name, _, what = reference.name.name.rpartition("$")
    if not name or reference.name.database is None or what not in _ICEBERG_METADATA | HIVE_METADATA.keys():
        return None
    try:
        table = reader.catalog.table(reference.name.database, name)
    except NotFound:
        return None
    if not is_iceberg(table):
        return hive_metadata(table, what, reference, reader) if what in HIVE_METADATA else None
    if what not in _ICEBERG_METADATA:
        return None
    from penstock.query.tables.iceberg.metadata_tables import MetadataTable  # noqa: PLC0415 - as in _source_of

    return MetadataTable(table, what, replace(reference, name=replace(reference.name, name=name)), reader)


def _stored_table(reference: TableReference, reader: LakeReader) -> Table:
    try:
        return find_table(reader.catalog, reference.name, database=None, position=reference.position)
    except StatementError as error:
        if error.code != "TABLE_NOT_FOUND" or error.remedy is not None:
            raise
        names = (table.name for table in reader.catalog.visible_tables((reference.name.database or "").lower()))
        message = error.message.removeprefix(f"{error.code}: ").removeprefix(f"{reference.position}: ")
        remedy = did_you_mean(reference.name.name, names)
        raise StatementError(error.code, message, position=error.position, remedy=remedy) from None


def find_database(
    catalog: StatementCatalog, name: TableName, database: str | None, *, position: Position | None = None
) -> str:
    """Return the database of a table's name, which may be a new one. Raises :class:`StatementError` if there is none."""
    if name.catalog is not None and not catalog.is_named(name.catalog):
        raise StatementError("CATALOG_NOT_FOUND", f"Catalog '{name.catalog}' does not exist", position=position)
    schema = name.database or database
    if schema is None:
        raise StatementError(
            "MISSING_SCHEMA_NAME",
            f"Schema must be specified for '{name.name}'",
            position=position,
            remedy="Write database.table, or set QueryExecutionContext.Database.",
        )
    schema = schema.lower()
    try:
        catalog.database(schema)
    except NotFound:
        raise StatementError("SCHEMA_NOT_FOUND", f"Schema '{schema}' does not exist", position=position) from None
    return schema


def find_table(
    catalog: StatementCatalog, name: TableName, *, database: str | None, position: Position | None = None
) -> Table:
    """Return the catalog's table, or the one that a resource link of the name leads to.

    A link is of a table, or of the database: Lake Formation developer guide, "How resource links work". Whoever uses one
    needs the permissions on its target. Raises :class:`StatementError` if a part of the name does not exist.
    """
    schema = find_database(catalog, name, database, position=position)
    what = f"{schema}.{name.name}"
    try:
        home = _target(catalog.database(schema).extra, "TargetDatabase", what, position)
        table = catalog.table(home.get("DatabaseName", schema), name.name)
        target = _target(table.extra, "TargetTable", what, position)
        if not target:
            return table
        linked = catalog.table(target.get("DatabaseName", ""), target.get("Name", ""))
    except NotFound:
        raise StatementError(
            "TABLE_NOT_FOUND", f"Table '{CATALOG_NAME.lower()}.{what}' does not exist", position=position
        ) from None
    if "TargetTable" in linked.extra:
        raise StatementError(
            "NOT_SUPPORTED", f"'{what}' is a resource link to a link.", position=position, remedy="Link to the table itself."
        )
    return linked


def _target(extra: Mapping[str, object], member: str, what: str, position: Position | None) -> Mapping[str, str]:
    """Return the names that a resource link leads to, in lower case; empty for what is not a resource link."""
    target = extra.get(member)
    if not isinstance(target, Mapping):
        return {}
    if target.get("CatalogId"):
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{what}' is a resource link into the catalog of account {target['CatalogId']}, which statements do not read.",
            position=position,
            remedy="Copy the table, or assume a role of that account.",
        )
    return {str(key): str(value).lower() for key, value in target.items()}

"""Iceberg as a kind of table. pyiceberg is imported when a query names such a table, as it takes half a second."""

from dataclasses import replace

from penstock.catalog.model import Table
from penstock.errors import NotFound
from penstock.query.tables.port import LakeReader, TableReference, TableSource

__all__ = ["iceberg_table", "is_iceberg", "metadata_table"]

_METADATA = frozenset({"files", "history", "manifests", "partitions", "refs", "snapshots"})


def is_iceberg(table: Table) -> bool:
    """Return whether the catalog's table is an Iceberg table."""
    return table.parameters.get("table_type", "").upper() == "ICEBERG"


def iceberg_table(table: Table, reference: TableReference, reader: LakeReader) -> TableSource | None:
    """Return the source of an Iceberg table, None for other tables. Raises :class:`StatementError`."""
    if not is_iceberg(table):
        return None
    from penstock.query.tables.iceberg.scan import IcebergTable  # noqa: PLC0415 - see above

    return IcebergTable(table, reference, reader)


def metadata_table(reference: TableReference, reader: LakeReader) -> TableSource | None:
    """Return the metadata table that ``table$what`` names, None for other names, and for tables of other kinds."""
    name, mark, what = reference.name.name.rpartition("$")
    if not mark or not name or what not in _METADATA or reference.name.database is None:
        return None
    try:
        table = reader.catalog.table(reference.name.database.lower(), name)
    except NotFound:
        return None
    if not is_iceberg(table):
        return None
    from penstock.query.tables.iceberg.metadata_tables import MetadataTable  # noqa: PLC0415 - see above

    return MetadataTable(table, what, replace(reference, name=replace(reference.name, name=name)), reader)

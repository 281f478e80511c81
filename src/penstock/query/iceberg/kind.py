"""Iceberg as a kind of table. pyiceberg is imported when a query names such a table, as it takes half a second."""

from penstock.catalog.model import Table
from penstock.query.tables.port import LakeReader, TableReference, TableSource

__all__ = ["iceberg_table", "is_iceberg"]


def is_iceberg(table: Table) -> bool:
    """Return whether the catalog's table is an Iceberg table."""
    return table.parameters.get("table_type", "").upper() == "ICEBERG"


def iceberg_table(table: Table, reference: TableReference, reader: LakeReader) -> TableSource | None:
    """Return the source of an Iceberg table, None for other tables. Raises :class:`StatementError`."""
    if not is_iceberg(table):
        return None
    from penstock.query.iceberg.scan import IcebergTable  # noqa: PLC0415 - see above

    return IcebergTable(table, reference, reader)

"""Names in statements, and the definitions of columns: what several kinds of statements have."""

from dataclasses import dataclass

__all__ = ["ColumnDefinition", "PartitionCondition", "TableName"]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's name as written; missing parts come from the statement's context."""

    name: str
    database: str | None = None
    catalog: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.database, self.name) if part is not None)


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column: its name in lower case, its Hive type as the catalog stores it (``struct<a:int>``), its comment."""

    name: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionCondition:
    """One term of a partition specification: ``year = '2013'``. ``value`` is the constant's text, None for NULL."""

    column: str
    operator: str
    """``=``, and in DROP PARTITION also ``<>``, ``<``, ``<=``, ``>`` and ``>=``."""
    value: str | None

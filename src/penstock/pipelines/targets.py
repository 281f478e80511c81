"""Tables of the data catalog that a pipeline writes to."""

from dataclasses import dataclass

__all__ = ["CatalogTarget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """The catalog table that gets the partitions. ``create``: create it, and add columns, when batches need them."""

    database: str
    table: str
    create: bool = False

    @property
    def name(self) -> str:
        """DATABASE.TABLE."""
        return f"{self.database}.{self.table}"

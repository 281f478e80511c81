"""The catalog's errors, each worded once.

::

    PenstockError
    ├── NotFound                ── DatabaseNotFound, TableNotFound, PartitionNotFound, VersionNotFound, SchemaMissing
    ├── AlreadyExists           ── DatabaseExists, TableExists, PartitionExists
    ├── InvalidInput            ── DatabaseInUse
    ├── ConcurrentModification  ── StaleTable
    └── LimitExceeded           ── CatalogFull, DefinitionTooLarge
"""

from collections.abc import Sequence

from penstock.errors import AlreadyExists, ConcurrentModification, InvalidInput, LimitExceeded, NotFound

__all__ = [
    "CatalogFull",
    "DatabaseExists",
    "DatabaseInUse",
    "DatabaseNotFound",
    "DefinitionTooLarge",
    "PartitionExists",
    "PartitionNotFound",
    "SchemaMissing",
    "StaleTable",
    "TableExists",
    "TableNotFound",
    "VersionNotFound",
]


class DatabaseNotFound(NotFound):
    """No database has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Database {name} not found.", remedy="GetDatabases lists the existing ones.")
        self.named = name


class TableNotFound(NotFound):
    """The database has no table of this name."""

    def __init__(self, database: str, name: str) -> None:
        super().__init__(f"Table {name} not found in database {database}.", remedy="GetTables lists the existing ones.")
        self.named = f"{database}.{name}"


class VersionNotFound(NotFound):
    """The table has no such version, or the version was deleted."""

    def __init__(self, database: str, table: str, version: str) -> None:
        super().__init__(
            f"Version {version} of table {database}.{table} not found.", remedy="GetTableVersions lists the existing ones."
        )


class PartitionNotFound(NotFound):
    """The table has no partition with these values."""

    def __init__(self, database: str, table: str, values: Sequence[str]) -> None:
        super().__init__(f"Cannot find partition {list(values)} of table {database}.{table}.")


class SchemaMissing(NotFound):
    """The schema of a table's SchemaReference does not exist."""

    def __init__(self, database: str, table: str, reference: str, reason: str) -> None:
        super().__init__(
            f"The columns of table {database}.{table} come from schema {reference}, which cannot be read: {reason}",
            remedy="Register the schema again, or change the table's SchemaReference with UpdateTable.",
        )


class DatabaseExists(AlreadyExists):
    """The database's name is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Database {name} already exists.")
        self.named = name


class TableExists(AlreadyExists):
    """The table's name is taken."""

    def __init__(self, database: str, name: str) -> None:
        super().__init__(f"Table {name} already exists in database {database}.")
        self.named = f"{database}.{name}"


class PartitionExists(AlreadyExists):
    """The table has a partition with these values."""

    def __init__(self, database: str, table: str, values: Sequence[str]) -> None:
        super().__init__(f"Partition {list(values)} of table {database}.{table} already exists.")


class DatabaseInUse(InvalidInput):
    """The database has tables, and only an empty one may be removed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Database {name} is not empty.", remedy="Remove its tables and views first.")
        self.named = name


class StaleTable(ConcurrentModification):
    """The table was changed after the caller read it."""

    def __init__(self, database: str, table: str, expected: str, current: str) -> None:
        super().__init__(
            f"Update table failed due to concurrent modifications: {database}.{table} is at version {current}, "
            f"the update was made for version {expected}.",
            remedy="Read the table again and repeat the change on it.",
        )


class DefinitionTooLarge(LimitExceeded):
    """The definition of a database, table or partition is over its limit."""

    def __init__(self, what: str, size: int, unit: str, limit: int) -> None:
        super().__init__(
            f"The definition of {what} has {size:,} {unit}; the limit is {limit:,}.",
            remedy="Leave out what readers do not need, or split it up.",
        )


class CatalogFull(LimitExceeded):
    """The catalog has reached a limit on the number of objects."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"There cannot be more than {limit:,} {what}.", remedy="Delete some first.")

"""What the sections of a pipeline's YAML share: locations, catalog tables, defaults."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from penstock.settings.document import Section

__all__ = ["CatalogTarget", "catalog_target", "default", "location"]

_Value = TypeVar("_Value")


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


def location(section: Section, base: Path, *names: str) -> str:
    """Return the URI or absolute path under one of ``names``; a relative path is below ``base``."""
    value = section.required(*names)
    if "://" in value:
        if not value.startswith(("s3://", "s3a://", "file://", "hdfs://")):
            raise section.fault(
                f"'{value}' has an unsupported scheme", key=names[0], remedy="Use s3://, s3a://, hdfs:// or a path."
            )
        if any(part == ".." for part in value.split("/")):
            raise section.fault(f"'{value}' has a '..' in it", key=names[0])
        return value.rstrip("/")
    return str((base / value).absolute())


def catalog_target(section: Section | None) -> CatalogTarget | None:
    """Return the table that a ``catalog`` section names; None without the section."""
    if section is None:
        return None
    result = CatalogTarget(
        database=section.required("database", "databaseName"),
        table=section.required("table", "tableName"),
        create=default(section.boolean("create", "enableUpdateCatalog"), False),
    )
    section.done()
    return result


def default(value: _Value | None, otherwise: _Value) -> _Value:
    """Return ``value``, or ``otherwise`` for None; unlike ``or``, it keeps 0, False and an empty text."""
    return otherwise if value is None else value

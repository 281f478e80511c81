"""An Apache Iceberg table as a sink."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from penstock.errors import InvalidInput
from penstock.pipelines.sections import location
from penstock.pipelines.sinks.settings import SinkSettings, WriteMode, sink_settings
from penstock.settings.document import Section

__all__ = ["IcebergCatalog", "IcebergSink", "PartitionTransform", "iceberg_sink"]

_TABLE = re.compile(r"[A-Za-z0-9_]{1,255}\.[A-Za-z0-9_]{1,255}")
_TRANSFORM = re.compile(r"(?P<name>[a-z]+)\(\s*(?:(?P<width>\d+)\s*,\s*)?(?P<column>[^(),]+?)\s*\)")
_OF_TIME = {"year": "years", "month": "months", "day": "days", "hour": "hours"}
_WITH_WIDTH = ("bucket", "truncate")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTransform:
    """One field of a partition spec: ``name`` is years, months, days, hours, bucket, truncate or identity."""

    name: str
    column: str
    width: int | None = None

    @classmethod
    def parse(cls, text: str) -> "PartitionTransform":
        """Return the transform of ``country``, ``days(ts)`` or ``bucket(16, id)``. Raises :class:`InvalidInput`."""
        if "(" not in text and ")" not in text and text.strip():
            return cls(name="identity", column=text.strip())
        match = _TRANSFORM.fullmatch(text.strip())
        if match is None:
            raise InvalidInput(
                f"'{text}' is not a partition transform.",
                remedy="In a YAML list, write those with a comma in quotes: [days(ts), 'bucket(16, id)'].",
            )
        name, width = _OF_TIME.get(match["name"], match["name"]), match["width"]
        names = [*_OF_TIME.values(), *_WITH_WIDTH]
        if name not in names or (name in _WITH_WIDTH) != (width is not None) or width == "0":
            raise InvalidInput(
                f"'{text}' is not a partition transform.",
                remedy=f"They are a column's name, {', '.join(f'{item}(COLUMN)' for item in _OF_TIME.values())}, "
                "bucket(N, COLUMN) and truncate(N, COLUMN).",
            )
        return cls(name=name, column=match["column"], width=None if width is None else int(width))


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCatalog:
    """The catalog that has the table: Glue's API, or a REST catalog at ``uri``.

    ``properties`` are Iceberg's own of the catalog, such as ``token`` (https://iceberg.apache.org/docs/latest/configuration/).
    """

    type: Literal["glue", "rest"] = "glue"
    uri: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (self.type == "rest") != (self.uri is not None):
            raise InvalidInput("An Iceberg catalog of type rest goes with 'uri', and only it does.")


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSink(SinkSettings):
    """A table of Iceberg, ``DATABASE.TABLE``.

    ``location`` is the table's folder; without it, that is DATABASE.db/TABLE below ``warehouse``. Of a REST catalog
    ``warehouse`` is what the catalog takes for one. ``partition_by`` and ``properties`` are those of a new table.
    """

    kind: ClassVar[str] = "iceberg"
    modes: ClassVar[tuple[WriteMode, ...]] = ("append", "upsert", "cdc")

    table: str
    catalog: IcebergCatalog = field(default_factory=IcebergCatalog)
    location: str | None = None
    warehouse: str | None = None
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        SinkSettings.__post_init__(self)
        if not _TABLE.fullmatch(self.table):
            raise InvalidInput(
                f"Sink {self.name}: '{self.table[:120]}' is not a table's name.",
                remedy="Write DATABASE.TABLE, in letters, digits and '_'.",
            )
        if self.catalog.type == "glue" and self.location is None and self.warehouse is None:
            raise InvalidInput(
                f"Sink {self.name}: nothing says where table {self.table} is to be.",
                remedy="Give 'location', the table's folder, or 'warehouse', the folder of tables.",
            )
        try:
            self.transforms  # noqa: B018 - parses them
        except InvalidInput as error:
            raise InvalidInput(f"Sink {self.name}: {error.message}", remedy=error.remedy) from None

    @property
    def transforms(self) -> tuple[PartitionTransform, ...]:
        """Return the fields of ``partition_by``."""
        return tuple(PartitionTransform.parse(text) for text in self.partition_by)

    @property
    def folder(self) -> str | None:
        """Return the folder of a new table; None if a REST catalog decides."""
        if self.location is not None or self.warehouse is None or self.catalog.type == "rest":
            return self.location
        database, _, table = self.table.partition(".")
        return f"{self.warehouse}/{database}.db/{table}"

    @property
    def locations(self) -> tuple[str, ...]:
        """Return the table's folder, if the declaration says it."""
        return () if self.folder is None else (self.folder,)

    @property
    def description(self) -> str:
        """Return the table and its partition fields."""
        return f"Iceberg table {self.table}, by {', '.join(self.partition_by) or 'no partitions'}"


def iceberg_sink(iceberg: Section, base: Path, name: str) -> IcebergSink:
    """Return the sink that an ``iceberg`` section declares."""
    catalog = _catalog(iceberg.section("catalog"))
    rest = catalog.type == "rest"
    return IcebergSink(
        **sink_settings(iceberg, name),
        table=iceberg.required("table"),
        catalog=catalog,
        location=location(iceberg, base, "location") if iceberg.has("location") else None,
        warehouse=(iceberg.text("warehouse") if rest else location(iceberg, base, "warehouse"))
        if iceberg.has("warehouse")
        else None,
        partition_by=iceberg.texts("partition_by"),
        properties=iceberg.mapping("properties"),
    )


def _catalog(section: Section | None) -> IcebergCatalog:
    if section is None:
        return IcebergCatalog()
    uri = section.text("uri")
    catalog_type = section.choice(("glue", "rest"), "type") or ("glue" if uri is None else "rest")
    properties = section.mapping("properties")
    try:
        catalog = IcebergCatalog(type="rest" if catalog_type == "rest" else "glue", uri=uri, properties=properties)
    except InvalidInput as error:
        raise section.fault(error.message.rstrip("."), remedy=error.remedy) from None
    section.done()
    return catalog

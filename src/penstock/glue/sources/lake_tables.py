"""Tables of Iceberg and Delta: from the catalog, and by their name or folder.

Source: "Using the Iceberg framework in AWS Glue" and "Using the Delta Lake framework in AWS Glue".
"""

import os
import re
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidInput, NotFound
from penstock.glue.connections.drivers import class_on_path
from penstock.glue.datalake import CATALOG, catalog_settings
from penstock.glue.options import Options
from penstock.glue.sources.port import Read, Table
from penstock.spark.quoting import quoted

__all__ = [
    "check_class",
    "delta_folder",
    "iceberg_name",
    "iceberg_of_path",
    "iceberg_rows",
    "is_delta",
    "is_iceberg",
    "read_delta",
    "read_iceberg",
    "rows_of_delta",
]

_CLASSES = {"iceberg": "org.apache.iceberg.spark.SparkCatalog", "delta": "io.delta.tables.DeltaTable"}
_NAME = re.compile(r"\w+(?:\.\w+){1,3}")
_FOLDER_LAKE = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
_VERSIONS = ("snapshot-id", "branch", "tag")


def is_iceberg(table: Table) -> bool:
    """Return whether a table of the catalog is Iceberg's."""
    return str((table.get("Parameters") or {}).get("table_type", "")).upper() == "ICEBERG"


def is_delta(table: Table) -> bool:
    """Return whether a table of the catalog is Delta's."""
    about = table.get("Parameters") or {}
    formats = {str(about.get(name, "")).lower() for name in ("table_type", "spark.sql.sources.provider", "classification")}
    return "delta" in formats


def iceberg_rows(read: Read, table: Table) -> DataFrame:
    """Return the rows of an Iceberg table of the catalog. Raises :class:`InvalidInput` for unknown options."""
    options = Options("the read of an Iceberg table", read.options)
    if read.catalog_id is not None:
        raise InvalidInput("Iceberg tables of other catalogs are not read.", remedy="Leave catalog_id out.")
    return _iceberg(read, iceberg_name(read.session.spark, table), options)


def read_iceberg(read: Read) -> DataFrame:
    """Return the rows of the Iceberg table whose name is ``path``: ``CATALOG.DATABASE.TABLE``."""
    options = Options("the iceberg source", read.options)
    return _iceberg(read, iceberg_of_path(read.session.spark, options), options)


def _iceberg(read: Read, name: str, options: Options) -> DataFrame:
    reader = read.session.spark.read
    # Spark's own names of time travel: Iceberg has given up its own.
    for travel in _VERSIONS:
        if (value := options.text(travel)) is not None:
            reader = reader.option("versionAsOf", value)
    if (moment := options.number("as-of-timestamp")) is not None:
        at = datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")
        reader = reader.option("timestampAsOf", at)
    frame = _readable(lambda: reader.table(name), name)
    return frame.where(read.push_down_predicate) if read.push_down_predicate else frame


def rows_of_delta(read: Read, table: Table) -> DataFrame:
    """Return the rows of a Delta table of the catalog. Raises :class:`InvalidInput` for unknown options."""
    return _delta(read, delta_folder(table), Options("the read of a Delta table", read.options))


def read_delta(read: Read) -> DataFrame:
    """Return the rows of the Delta table in the folder ``path``."""
    options = Options("the delta source", read.options)
    named, several = options.text("path"), options.raw("paths")
    paths = [named] if named else [several] if isinstance(several, str) else list(several or [])
    if len(paths) != 1:
        raise InvalidInput("The delta source needs path.", remedy="Give the table's folder, of one table.")
    return _delta(read, str(paths[0]), options)


def _delta(read: Read, path: str, options: Options) -> DataFrame:
    check_class(read.session.spark, "delta")
    reader = read.session.spark.read.format("delta")
    for travel in ("versionAsOf", "timestampAsOf"):
        if (value := options.text(travel)) is not None:
            reader = reader.option(travel, value)
    frame = _readable(lambda: reader.load(path), path)
    return frame.where(read.push_down_predicate) if read.push_down_predicate else frame


def iceberg_name(spark: SparkSession, table: Table) -> str:
    """Return the name of a table of the catalog in Spark, quoted, whose catalog is there now."""
    check_class(spark, "iceberg")
    _use_catalog(spark)
    return quoted(CATALOG, str(table["DatabaseName"]), str(table["Name"]))


def iceberg_of_path(spark: SparkSession, options: Options) -> str:
    """Return the name that the option ``path`` is, quoted, whose catalog is there now. Raises :class:`InvalidInput`."""
    name = options.text("path") or ""
    if not _NAME.fullmatch(name):
        raise InvalidInput("The iceberg connection needs path.", remedy=f"Write {CATALOG}.DATABASE.TABLE.")
    check_class(spark, "iceberg")
    _use_catalog(spark)
    return quoted(*name.split("."))


def delta_folder(table: Table) -> str:
    """Return the folder of a Delta table of the catalog. Raises :class:`InvalidInput` if it has none."""
    storage = table.get("StorageDescriptor") or {}
    folder = (storage.get("SerdeInfo") or {}).get("Parameters", {}).get("path") or storage.get("Location")
    if not folder:
        raise InvalidInput(f"Table {table.get('Name')} has no location.", remedy="Set its folder.")
    return str(folder)


def _use_catalog(spark: SparkSession) -> None:
    """Configure :data:`CATALOG` where neither the job's start nor the script has."""
    if spark.conf.get(f"spark.sql.catalog.{CATALOG}", None) is not None:
        return
    folder_lake = spark._jsc.hadoopConfiguration().get("fs.s3.impl") == _FOLDER_LAKE
    for name, value in catalog_settings(os.environ, bucket=None, folder_lake=folder_lake).items():
        spark.conf.set(name, value)


def check_class(spark: SparkSession, form: str) -> None:
    """Raise :class:`InvalidInput` unless Spark was started with the format's files."""
    if class_on_path(spark, [_CLASSES[form]]) is None:
        raise InvalidInput(
            f"Spark was started without {form.capitalize()}.", remedy=f"Give the job the argument --datalake-formats {form}."
        )


def _readable(read: Any, what: str) -> DataFrame:
    try:
        frame: DataFrame = read()
        _ = frame.schema
    except AnalysisException as error:
        text = (str(error).splitlines() or [""])[0]
        if "NOT_FOUND" in text or "DELTA_" in text or "not a Delta table" in text:
            raise NotFound(f"{what} cannot be read: {text[:300]}", remedy="Correct the table's name or folder.") from None
        raise
    return frame

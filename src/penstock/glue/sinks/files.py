"""Files below an ``s3://`` path, with the table of the catalog that they belong to.

Sources: "Creating tables, updating the schema, and adding new partitions in the Data Catalog from AWS Glue ETL jobs",
https://docs.aws.amazon.com/glue/latest/dg/update-from-job.html, and "Amazon S3 connection option reference".
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from penstock.client.catalog import table_input
from penstock.errors import InvalidInput, NotFound
from penstock.glue.options import Options
from penstock.glue.session import GlueSession
from penstock.glue.sinks.formats import Output, output
from penstock.glue.sinks.port import Write
from penstock.glue.sinks.staging import publish
from penstock.glue.sources.file_tables import format_of, is_files
from penstock.glue.sources.listing import check_bucket
from penstock.pipelines.sections import CatalogTarget
from penstock.spark.tables.catalog import CatalogTable
from penstock.spark.tables.shapes import hive_columns

__all__ = ["is_files", "to_table", "write"]

_KEYS = '["year", "month"]'
_BEHAVIOURS = ("UPDATE_IN_DATABASE", "LOG")
_log = logging.getLogger("awsglue")


def write(request: Write, frame: DataFrame) -> None:
    """Add ``frame`` to the files below ``path``, all rows or none, and update the catalog if ``enableUpdateCatalog`` is set.

    Raises :class:`InvalidInput` for options that are unknown, missing or wrong, and for a table that does not fit;
    :class:`NotFound` for a bucket that does not exist.
    """
    options = Options("the s3 sink", request.options)
    keys = options.names("partitionKeys", _KEYS)
    path = options.text("path")
    if not path:
        raise InvalidInput(
            "The s3 sink does not name a path.", remedy='Give connection_options={"path": "s3://BUCKET/folder/"}.'
        )
    compression = options.text("compression") or options.text("compressionType")
    form = request.format or _kind_as_format(request)
    files = output(form, _format_options(options, form, request.format_options), compression=compression)
    table = _catalog_table(request, options, path, keys, files)
    _save(request.session, frame, _Target(path=path, keys=keys, files=files, update=table))


def to_table(request: Write, table: Mapping[str, Any], frame: DataFrame) -> None:
    """Add ``frame`` to the files of a table, by its partition keys unless ``partitionKeys`` says otherwise.

    Raises as :func:`write` does.
    """
    options = Options("the write to a table", request.options)
    own = [key["Name"] for key in table.get("PartitionKeys", ())]
    keys = options.names("partitionKeys", _KEYS) or own
    if [key.lower() for key in keys] != [key.lower() for key in own]:
        raise InvalidInput(
            f"partitionKeys are {keys}, and table {request.database}.{request.table} is partitioned by {own}.",
            remedy="Give the table's keys in their order, or leave partitionKeys out.",
        )
    storage = table["StorageDescriptor"]
    serde = {
        **storage.get("Parameters", {}),
        **table.get("Parameters", {}),
        **storage.get("SerdeInfo", {}).get("Parameters", {}),
    }
    form = format_of(table)
    details = _format_options(options, form, _csv_details(serde) if form == "csv" else {})
    files = output(form, details, compression=options.text("compression"))
    path = storage["Location"]
    update = _catalog_table(request, options, path, keys, files)
    _save(request.session, frame, _Target(path=path, keys=keys, files=files, update=update))


def _format_options(options: Options, form: str | None, format_options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of the format, of which one may be among those of the connection."""
    whole = options.flag("useGlueParquetWriter") and (form or "").lower() == "parquet"
    return {"useGlueParquetWriter": True, **format_options} if whole else format_options


def _csv_details(options: Mapping[str, str]) -> dict[str, str]:
    separator = options.get("separatorChar") or options.get("field.delim") or options.get("delimiter") or ","
    header = options.get("skip.header.line.count", "0").strip() == "1"
    quote = {"quoteChar": options["quoteChar"]} if options.get("quoteChar") else {}
    return {"separator": separator, "writeHeader": str(header).lower(), **quote}


def _kind_as_format(request: Write) -> str | None:
    return None if request.connection_type in {"s3", "file", "catalog"} else request.connection_type


class _Update:
    """What a write changes in the catalog. ``log``: partitions only, as updateBehavior LOG says."""

    def __init__(self, table: CatalogTable, columns: Mapping[str, str] | None, *, log: bool) -> None:
        self.table, self._columns, self._log = table, columns, log

    def after(self, frame: DataFrame, folders: Sequence[str]) -> None:
        """Create or extend the table, and add its new partitions."""
        columns = {name.lower(): type_name for name, type_name in hive_columns(frame.schema).items()}
        if not self._log:
            self.table.sync(columns, folders)
            return
        assert self._columns is not None
        more = sorted(columns.keys() - {name.lower() for name in self._columns})
        if more:
            _log.warning(
                "Table %s lacks the columns %s, and updateBehavior is LOG: neither they nor the partitions are added.",
                self.table.name,
                ", ".join(more),
            )
            return
        self.table.add_partitions(folders)


def _catalog_table(request: Write, options: Options, path: str, keys: Sequence[str], files: Output) -> _Update | None:
    """Return what to change in the catalog, None if nothing; the table is checked before a row is written."""
    enabled = options.flag("enableUpdateCatalog")
    behaviour = (options.text("updateBehavior") or _BEHAVIOURS[0]).upper()
    if behaviour not in _BEHAVIOURS:
        raise InvalidInput(f"updateBehavior is {behaviour!r}.", remedy=f"Use {' or '.join(_BEHAVIOURS)}.")
    if not enabled:
        return None
    if not request.database or not request.table:
        raise InvalidInput(
            "enableUpdateCatalog needs a table of the catalog.",
            remedy='Call sink.setCatalogInfo(catalogDatabase="...", catalogTableName="...").',
        )
    if files.table is None:
        raise InvalidInput(
            f"enableUpdateCatalog is not for files of {files.form}.", remedy="Use json, csv, avro or parquet."
        )
    log = behaviour == "LOG"
    table = CatalogTable(
        request.session.catalog(request.catalog_id),
        CatalogTarget(database=request.database.lower(), table=request.table.lower(), create=not log),
        location=path,
        keys=[key.lower() for key in keys],
        files=files.table,
        table_input=table_input,
    )
    return _Update(table, table.columns(), log=log)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where a write's files go, how they are written, and what changes in the catalog."""

    path: str
    keys: Sequence[str]
    files: Output
    update: _Update | None


def _save(session: GlueSession, frame: DataFrame, target: _Target) -> None:
    check_bucket(session.spark, target.path)
    keys = target.keys
    missing = [key for key in keys if key.lower() not in {name.lower() for name in frame.columns}]
    if missing and frame.columns:
        raise NotFound(
            f"The frame has no column {', '.join(missing)} for partitionKeys.",
            remedy=f"Its columns are {', '.join(frame.columns)}.",
        )
    ready = target.files.prepare(frame)
    if not ready.columns:
        return  # a frame without a record
    if len(ready.columns) == len(keys):
        raise InvalidInput("Every column is a partition key: the files would have none.", remedy="Keep one more column.")
    if target.update is not None:
        # The catalog's names are in lower case, and folders are named by the keys.
        keys = [key.lower() for key in keys]
        ready = ready.withColumnsRenamed({name: name.lower() for name in ready.columns if name.lower() in keys})

    def save(folder: str) -> None:
        writer = ready.write.format(target.files.form).options(**target.files.options)
        (writer.partitionBy(*keys) if keys else writer).save(folder)

    written = publish(session.files, target.path, save)
    if target.update is not None:
        cut = len(target.path.rstrip("/")) + 1
        target.update.after(ready, sorted({file[cut:].rpartition("/")[0] for file in written}) if keys else [])

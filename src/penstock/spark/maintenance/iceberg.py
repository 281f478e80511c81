"""Maintenance of Iceberg tables while streams write to them: small files, old snapshots, files that no snapshot has.

All three are Iceberg's own procedures (https://iceberg.apache.org/docs/latest/spark-procedures/), whose commits fail or are
repeated where a stream was first. A stream that is overtaken by one writes its batch again.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from penstock.errors import ConcurrentModification
from penstock.pipelines.sinks.iceberg import IcebergSink
from penstock.spark.maintenance.procedures import ProcedureReport, TableMaintenance
from penstock.spark.quoting import quoted
from penstock.spark.sinks.iceberg.catalog import use_catalog
from penstock.spark.sinks.sql import literal

__all__ = ["maintain_iceberg"]

_YOUNGEST = 86_460.0
"""Iceberg refuses to look for orphans among files of the last 24 hours; in seconds, with a minute for the call."""


def maintain_iceberg(
    spark: SparkSession,
    table: IcebergSink,
    settings: TableMaintenance,
    *,
    environment: Mapping[str, str],
    now: float | None = None,
) -> list[ProcedureReport]:
    """Rewrite small files, expire snapshots, remove orphan files; return what each procedure did.

    ``table`` names table and catalog as a pipeline's sink does; for one in Glue, ``IcebergSink(table="db.name",
    location=...)`` with the location of the table. ``environment`` has AWS's own variables. ``now`` is Unix time.
    Orphans are a day old at least.

    The branch of a sink keeps the snapshot with its newest batch from expiring, whatever its age. Raises
    :class:`ConcurrentModification` if writers were first too often.
    """
    catalog = use_catalog(spark, table, environment)
    at = time.time() if now is None else now
    name = f"table => {literal(table.table)}"
    where = "" if settings.where is None else f", where => {literal(settings.where)}"
    options = {"target-file-size-bytes": settings.target_file_size, "min-input-files": settings.min_files}
    mapped = ", ".join(f"{literal(key)}, {literal(str(value))}" for key, value in options.items())
    orphans_after = max(settings.orphans_after, _YOUNGEST)
    expired, orphans = (_timestamp(at - age) for age in (settings.expire_after, orphans_after))
    calls = {
        "rewrite_data_files": f"{name}, options => map({mapped}){where}",
        "expire_snapshots": f"{name}, older_than => {expired}, retain_last => 1",
        "remove_orphan_files": f"{name}, older_than => {orphans}",
    }
    with _calls(table):
        return [
            ProcedureReport(table=table.table, procedure=procedure, counts=_call(spark, catalog, procedure, arguments))
            for procedure, arguments in calls.items()
        ]


def _call(spark: SparkSession, catalog: str, procedure: str, arguments: str) -> dict[str, int]:
    rows = spark.sql(f"CALL {quoted(catalog, 'system', procedure)}({arguments})").toArrow().to_pylist()
    if procedure == "remove_orphan_files":
        return {"orphan_files_count": len(rows)}
    return {key: int(value) for row in rows for key, value in row.items() if isinstance(value, int)}


def _timestamp(at: float) -> str:
    return f"TIMESTAMP {literal(datetime.fromtimestamp(at, UTC).strftime('%Y-%m-%d %H:%M:%S.%f+00:00'))}"


@contextmanager
def _calls(table: IcebergSink) -> Iterator[None]:
    try:
        yield
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() in {"CommitFailedException", "ValidationException"}:
            raise ConcurrentModification(
                f"Iceberg table {table.table} is changed by others faster than it can be maintained.",
                remedy="Try again, or give 'where' so that closed partitions alone are rewritten.",
            ) from error
        raise

"""Maintenance of Delta tables while streams write to them: small files, and files that the table does not have any more."""

from pyspark.sql import SparkSession

from penstock.pipelines.sinks.delta import DeltaSink
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.maintenance.procedures import ProcedureReport, TableMaintenance
from penstock.spark.quoting import quoted
from penstock.spark.sinks.delta import one_writer

__all__ = ["maintain_delta"]

_TARGET = "spark.databricks.delta.optimize.maxFileSize"
_SMALL = "spark.databricks.delta.optimize.minFileSize"
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


def maintain_delta(spark: SparkSession, table: DeltaSink, settings: TableMaintenance) -> list[ProcedureReport]:
    """OPTIMIZE and VACUUM the table (https://docs.delta.io/optimizations-oss/); return what each did.

    ``table`` names the folder as a pipeline's sink does. Of ``settings``, ``where`` may name partition columns only, and
    ``orphans_after`` also ends time travel. The last batch of each sink is in the table's log, which neither changes.
    Streams on this machine wait while files are rewritten: see :func:`penstock.spark.sinks.delta.one_writer`.
    """
    name = f"delta.{quoted(table.location)}"
    where = "" if settings.where is None else f" WHERE {settings.where}"
    hours = settings.orphans_after / 3600
    spark.conf.set(_TARGET, str(settings.target_file_size))
    spark.conf.set(_SMALL, str(settings.target_file_size))
    spark.conf.set(_CHECK, "false")  # it refuses less than the week that Delta takes for the longest query
    try:
        with one_writer(spark, table.location):
            optimized = spark.sql(f"OPTIMIZE {name}{where}").select("metrics.numFilesRemoved", "metrics.numFilesAdded")
            counts = {key: int(value) for key, value in optimized.toArrow().to_pylist()[0].items()}
            before = _files(spark, table)
            spark.sql(f"VACUUM {name} RETAIN {hours} HOURS").toArrow()
            removed = before - _files(spark, table)
    finally:
        for key in (_TARGET, _SMALL, _CHECK):
            spark.conf.unset(key)
    return [
        ProcedureReport(table=table.location, procedure="OPTIMIZE", counts=counts),
        ProcedureReport(table=table.location, procedure="VACUUM", counts={"numFilesDeleted": removed}),
    ]


def _files(spark: SparkSession, table: DeltaSink) -> int:
    return sum("/_delta_log/" not in path for path in HadoopFiles(spark).walk(table.location))

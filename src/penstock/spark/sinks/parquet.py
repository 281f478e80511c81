"""How the files of a Parquet sink are written."""

from pyspark.sql import DataFrame

from penstock.pipelines.sinks.parquet import ParquetSink

__all__ = ["write_files"]


def write_files(rows: DataFrame, sink: ParquetSink, folder: str) -> None:
    """Write ``rows`` below ``folder`` a folder for each of its partitions."""
    writer = rows.write.mode("append").option("compression", sink.compression).partitionBy(*sink.partition_by)
    writer.option("maxRecordsPerFile", sink.max_records_per_file).parquet(folder)

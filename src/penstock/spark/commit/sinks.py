"""How the files of each kind of sink are written, and what the catalog says of them."""

from typing import assert_never

from pyspark.sql import DataFrame

from penstock.pipelines.model import ParquetSink, Sink
from penstock.spark.commit.catalog import PARQUET, TableFormat

__all__ = ["table_format", "write_files"]


def table_format(sink: Sink) -> TableFormat:
    """Return the format of the sink's table."""
    match sink:
        case ParquetSink():
            return PARQUET
        case _:
            assert_never(sink)


def write_files(rows: DataFrame, sink: Sink, folder: str) -> None:
    """Write ``rows`` below ``folder`` in the sink's format, a folder for each of its partitions."""
    writer = rows.write.mode("append").option("compression", sink.compression).partitionBy(*sink.partition_by)
    match sink:
        case ParquetSink():
            writer.option("maxRecordsPerFile", sink.max_records_per_file).parquet(folder)
        case _:
            assert_never(sink)

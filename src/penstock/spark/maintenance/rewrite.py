"""Write Parquet files anew with Spark, and compare what was written with what was read."""

from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import StructType

from penstock.errors import DataProblem, EnvironmentProblem
from penstock.spark.quoting import quoted
from penstock.spark.tables.shapes import merged

__all__ = ["SparkRewriter"]

_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.legacy.allowHashOnMapType": "true",
}


class SparkRewriter:
    """Rewrites files of one table. Columns are those of all files, with types that hold the values of all."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def rewrite(self, inputs: Sequence[str], folder: str, *, files: int, compression: str) -> int:
        """Write the rows of ``inputs`` to ``files`` files in ``folder``; return how many rows.

        Raises :class:`DataProblem` if the rows that are read back differ in their number, in the nulls of a column or in
        the sum of their hashes, :class:`EnvironmentProblem` if Spark cannot write them.
        """
        before = {key: self._spark.conf.get(key, None) for key in _SETTINGS}
        for key, value in _SETTINGS.items():
            self._spark.conf.set(key, value)
        try:
            return self._rewritten(inputs, folder, files, compression)
        except (PySparkException, Py4JJavaError) as error:
            first = next(iter(str(error).splitlines()), type(error).__name__)
            raise EnvironmentProblem(
                f"Spark could not write {len(inputs)} files anew into {folder}: {first[:400]}",
                remedy="Look at Spark's log. The table has its old files, and the next run begins this partition again.",
            ) from error
        finally:
            for key, earlier in before.items():
                if earlier is None:
                    self._spark.conf.unset(key)
                else:
                    self._spark.conf.set(key, earlier)

    def _rewritten(self, inputs: Sequence[str], folder: str, files: int, compression: str) -> int:
        schema = self._schema(inputs)
        rows = self._spark.read.schema(schema).parquet(*inputs)
        # Files are read in splits of this size; without a shuffle a task writes one file.
        spread = rows.coalesce(files) if rows.rdd.getNumPartitions() >= files else rows.repartition(files)
        spread.write.mode("append").option("compression", compression).parquet(folder)
        old, new = _facts(rows), _facts(self._spark.read.schema(schema).parquet(folder))
        if old != new:
            names = [name for name in old if old[name] != new[name]]
            raise DataProblem(
                f"The compaction into {folder} differs from its {len(inputs)} files in {', '.join(names)}: "
                f"{old[names[0]]} and {new[names[0]]}. The table still has the old files.",
                remedy="Run it again; if it happens again, report it with the Spark log.",
            )
        return int(new["rows"])

    def _schema(self, inputs: Sequence[str]) -> StructType:
        """Return columns that hold those of all files."""
        try:
            return self._spark.read.option("mergeSchema", "true").parquet(*inputs).schema
        except (PySparkException, Py4JJavaError):
            # Spark does not merge an int with a bigint.
            schema = StructType()
            for path in inputs:
                schema = merged(schema, self._spark.read.parquet(path).schema)
            return schema


def _facts(rows: DataFrame) -> dict[str, Any]:
    """Return the number of rows, the nulls of each column, and the sum of the rows' hashes."""
    names = rows.columns
    columns = [F.col(quoted(name)) for name in names]
    nulls = [_nulls(column).alias(f"n{number}") for number, column in enumerate(columns)]
    hashes = F.sum(F.xxhash64(*columns).cast("decimal(38,0)")).alias("hashes") if columns else F.lit(0).alias("hashes")
    row = rows.agg(F.count(F.lit(1)).alias("rows"), hashes, *nulls).collect()[0]
    counted = {f"nulls of {name}": int(row[f"n{number}"]) for number, name in enumerate(names)}
    return {"rows": int(row["rows"]), "hashes": row["hashes"], **counted}


def _nulls(column: Column) -> Column:
    return F.count(F.when(column.isNull(), 1))

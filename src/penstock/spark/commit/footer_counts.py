"""Rows and nulls of a batch: from the footers of the files that were written, and by counting only what they do not say."""

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.types import AtomicType, StructType

from penstock.lake.files import FileSystem
from penstock.lake.footers import read_counts
from penstock.spark.quoting import quoted

__all__ = ["Counting", "FileCounts"]


class FileCounts:
    """Counts the files of one pipeline's batches. It remembers columns of which footers did not say the nulls."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._silent: set[str] = set()

    def of(
        self, schema: StructType, columns: Collection[str], *, never: Collection[str], apart: Collection[str]
    ) -> "Counting":
        """Return the counting of one batch's nulls in ``columns``.

        ``never`` have no nulls; ``apart`` are in the names of folders and not in the files. Nested columns are counted as
        rows: a footer counts the nulls of their parts, with those of empty lists.
        """
        folders = {name.lower() for name in apart}
        flat = {field.name for field in schema.fields if isinstance(field.dataType, AtomicType)}
        nullable = [name for name in columns if name not in never]
        in_footers = [name for name in nullable if name in flat - self._silent and name.lower() not in folders]
        return Counting(
            files=self._files,
            columns=tuple(columns),
            in_footers=tuple(in_footers),
            counted=tuple(name for name in nullable if name not in in_footers),
            silent=self._silent,
            _seen=Observation(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """One batch: nulls of ``in_footers`` are read there, those of ``counted`` as the rows are written."""

    files: FileSystem
    columns: tuple[str, ...]
    in_footers: tuple[str, ...]
    counted: tuple[str, ...]
    silent: set[str]
    _seen: Observation

    def observed(self, rows: DataFrame) -> DataFrame:
        """Return the rows to write; they are counted on the way if that is needed."""
        return rows.observe(self._seen, *_null_counts(self.counted)) if self.counted else rows

    def read(self, folder: str, spark: SparkSession) -> tuple[int, dict[str, int]]:
        """Return the number of rows below ``folder``, and the nulls of each column."""
        paths = [path for path in self.files.walk(folder) if path.endswith(".parquet")]
        counts = read_counts(self.files, paths, self.in_footers)
        nulls = dict.fromkeys(self.columns, 0) | dict(counts.nulls)
        if self.counted:
            nulls |= _by_name(self.counted, dict(self._seen.get))
        if counts.unknown:
            self.silent.update(counts.unknown)
            row = spark.read.parquet(*paths).agg(*_null_counts(counts.unknown)).collect()[0]
            nulls |= _by_name(counts.unknown, row.asDict())
        return counts.rows, nulls


def _null_counts(columns: Collection[str]) -> list[Column]:
    return [F.count(F.when(F.col(quoted(name)).isNull(), 1)).alias(f"n{number}") for number, name in enumerate(columns)]


def _by_name(columns: Collection[str], counts: dict[str, int]) -> dict[str, int]:
    return {name: int(counts[f"n{number}"]) for number, name in enumerate(columns)}

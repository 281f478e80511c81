"""DynamicFrame over a Spark DataFrame: its methods and their arguments, on a known schema.

AWS's own infers a schema record by record and keeps values that disagree as choices; this one has Spark's schema, and
values that do not fit a type become null. Source:
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame.html
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.types import StructType

from penstock.spark.glue.errors import FRAME, not_supported
from penstock.spark.glue.frames.fields import Field, applied, dropped, renamed, selected, split
from penstock.spark.glue.payload import with_inferred_columns

__all__ = ["DynamicFrame"]

Mapped = tuple[str, str, str, str] | tuple[str, str]


class DynamicFrame:
    """``glue_ctx`` is the GlueContext, ``name`` is a label. Every method that changes something returns a new frame.

    ``transformation_ctx``, ``info`` and the thresholds are accepted and have no effect: there are no bookmarks and no error
    records, and an exception of a function fails the batch.
    """

    def __init__(self, frame: DataFrame, glue_ctx: Any, name: str = "") -> None:
        self._frame = frame
        self.glue_ctx = glue_ctx
        self.name = name

    @classmethod
    def fromDF(cls, dataframe: DataFrame, glue_ctx: Any, name: str = "") -> "DynamicFrame":  # noqa: N802
        """Return a frame of a DataFrame. JSON text of a source with ``inferSchema`` becomes columns."""
        streaming = dataframe.isStreaming
        return cls(dataframe if streaming else with_inferred_columns(dataframe, glue_ctx.spark_session), glue_ctx, name)

    def toDF(self, options: Sequence[Any] | None = None) -> DataFrame:  # noqa: N802
        """Return the DataFrame; there are no choices for ``options`` to resolve."""
        if options:
            raise not_supported({"toDF(options)": "Call toDF() without options."}, "DynamicFrame", "toDF(options)")
        return self._frame

    def schema(self) -> StructType:
        """Spark's schema."""
        return self._frame.schema

    def printSchema(self) -> None:  # noqa: N802
        """Print the schema as a tree."""
        self._frame.printSchema()

    def show(self, num_rows: int = 20) -> None:
        """Print rows as JSON, one in each line."""
        for text in self._frame.limit(num_rows).toJSON().collect():
            print(text)

    def count(self) -> int:
        """Return the number of rows."""
        return self._frame.count()

    def getNumPartitions(self) -> int:  # noqa: N802
        """Return the number of partitions."""
        return self._frame.rdd.getNumPartitions()

    def repartition(self, num_partitions: int, transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return the same rows in ``num_partitions`` partitions."""
        return self._with(self._frame.repartition(num_partitions))

    def coalesce(self, num_partitions: int, shuffle: bool = False, transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return the same rows in at most ``num_partitions`` partitions."""
        frame = self._frame
        return self._with(frame.repartition(num_partitions) if shuffle else frame.coalesce(num_partitions))

    def filter(self, f: Callable[[dict[str, Any]], Any], transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return the rows for which ``f(record)`` is true. A record is a dict; one that lacks a key of ``f`` is left out."""

        def keeps(row: Row) -> bool:
            try:
                return bool(f(row.asDict(recursive=True)))
            except (KeyError, TypeError, ValueError):
                return False

        kept = self._frame.rdd.filter(keeps)
        return self._with(self._spark.createDataFrame(kept, self._frame.schema))

    def map(self, f: Callable[[dict[str, Any]], dict[str, Any]], transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return ``f(record)`` (a dict) for every record; the schema is inferred from all results."""
        mapped = self._frame.rdd.map(lambda row: f(row.asDict(recursive=True)))
        return self._with(mapped_frame(self._spark, mapped, self._frame.schema))

    def select_fields(self, paths: str | Iterable[str], transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return the fields at ``paths`` (``a.b`` is within ``a``); missing paths are left out."""
        return self._with(selected(self._frame, _listed(paths)))

    def drop_fields(self, paths: str | Iterable[str], transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return all fields except those at ``paths``."""
        return self._with(dropped(self._frame, _listed(paths)))

    def rename_field(self, oldName: str, newName: str, transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002, N803
        """Rename the field at ``oldName`` to ``newName``, which is a whole path, too."""
        return self._with(renamed(self._frame, oldName, newName))

    def apply_mapping(
        self,
        mappings: Sequence[Mapped],
        case_sensitive: bool = False,
        transformation_ctx: str = "",  # noqa: ARG002
        **_: Any,
    ) -> "DynamicFrame":
        """Return only the fields that ``mappings`` name: (source, its type, target, its type), or (source, target).

        Missing sources are left out; values that cannot be cast become null.
        """
        fields = [_field(each) for each in mappings]
        return self._with(applied(self._frame, fields, case_sensitive=case_sensitive))

    def union(self, frame2: "DynamicFrame", transformation_ctx: str = "", **_: Any) -> "DynamicFrame":  # noqa: ARG002
        """Return the rows of both frames; fields that a frame lacks are null in its rows."""
        return self._with(self._frame.unionByName(frame2.toDF(), allowMissingColumns=True))

    @property
    def _spark(self) -> Any:
        return self._frame.sparkSession

    def _with(self, frame: DataFrame) -> "DynamicFrame":
        return type(self)(frame, self.glue_ctx, self.name)

    def __getattr__(self, name: str) -> Any:
        raise not_supported(FRAME, "DynamicFrame", name, (each for each in vars(DynamicFrame) if not each.startswith("_")))


def _listed(paths: str | Iterable[str]) -> list[str]:
    return [paths] if isinstance(paths, str) else list(paths)


def _field(mapping: Mapped) -> Field:
    if len(mapping) == 2:
        return Field(source=split(mapping[0]), target=split(mapping[1]), type=None)
    source, _, target, kind = mapping
    return Field(source=split(source), target=split(target), type=kind)


def mapped_frame(spark: Any, records: Any, schema: StructType) -> DataFrame:
    """Return a frame of an RDD of dicts: nested dicts become structs; an empty RDD has ``schema``."""
    setting = "spark.sql.pyspark.inferNestedDictAsStruct.enabled"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "true")
    try:
        if records.isEmpty():
            return spark.createDataFrame([], schema)  # type: ignore[no-any-return]
        return spark.createDataFrame(records.map(_row), samplingRatio=1.0)  # type: ignore[no-any-return]
    finally:
        spark.conf.set(setting, before)


def _row(record: Mapping[str, Any]) -> Row:
    return Row(**record)

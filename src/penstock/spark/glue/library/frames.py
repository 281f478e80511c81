"""``awsglue.dynamicframe`` and ``awsglue.gluetypes``."""

from collections.abc import Sequence

from penstock.spark.glue.library.rows import Row, differs, refused, served

__all__ = ["ROWS"]

_FRAMES, _TYPES = "awsglue.dynamicframe", "awsglue.gluetypes"
_SQL = "Use toDF() and Spark's own functions."
_ERRORS = "There are no error records: an exception of a function fails the batch, which is retried."
_WRITE = "Write with Spark's writer: frame.toDF().write, or the DataFrame's own."
_SPARK_SCHEMA = "The schema is Spark's: no choices, no error records."

ROWS: Sequence[Row] = [
    *served(_FRAMES, "", "DynamicFrame"),
    *served(_FRAMES, "DynamicFrame", "fromDF count show getNumPartitions repartition coalesce name glue_ctx"),
    *served(_FRAMES, "DynamicFrame", "select_fields drop_fields rename_field union"),
    *differs(_FRAMES, "DynamicFrame", "schema printSchema toDF filter map apply_mapping", _SPARK_SCHEMA),
    *refused(_FRAMES, "DynamicFrame", "unbox split_fields split_rows join unnest relationalize", _SQL),
    *refused(_FRAMES, "DynamicFrame", "unnest_ddb_json simplify_ddb_json resolveChoice mergeDynamicFrame", _SQL),
    *refused(_FRAMES, "DynamicFrame", "mapPartitions mapPartitionsWithIndex with_frame_schema applyMapping", _SQL),
    *refused(_FRAMES, "DynamicFrame", "write spigot", _WRITE),
    *refused(_FRAMES, "DynamicFrame", "errorsAsDynamicFrame errorsCount stageErrorsCount assertErrorThreshold", _ERRORS),
    *refused(_FRAMES, "", "DynamicFrameCollection ResolveOption", _SQL),
    *refused(
        _TYPES,
        "",
        "DataType AtomicType BinaryType BooleanType ByteType DateType DecimalType DoubleType EnumType FloatType IntegerType "
        "LongType NullType ShortType StringType TimestampType UnknownType ArrayType ChoiceType MapType Field StructType "
        "EntityType mergeDataTypes",
        "Use the types of pyspark.sql.types.",
    ),
]

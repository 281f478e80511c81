"""``awsglue.dynamicframe`` and ``awsglue.gluetypes``."""

from collections.abc import Sequence
from functools import partial

from penstock.glue.library.rows import Row, differs, served

__all__ = ["ROWS"]

_FRAMES, _TYPES = "awsglue.dynamicframe", "awsglue.gluetypes"
_served = partial(served, _FRAMES, "DynamicFrame")
_differs = partial(differs, _FRAMES, "DynamicFrame")

ROWS: Sequence[Row] = [
    *served(_FRAMES, "", "DynamicFrame DynamicFrameCollection ResolveOption"),
    *_served("toDF schema printSchema show count name glue_ctx"),
    *_served("getNumPartitions repartition coalesce"),
    *_served("select_fields drop_fields rename_field union split_fields split_rows"),
    *_served("join write mergeDynamicFrame with_frame_schema"),
    *_differs(
        "fromDF", "Of a stream with inferSchema, all integers are longs, and text that is not JSON is a row of nulls."
    ),
    *_differs(
        "apply_mapping applyMapping",
        "A value whose type is not the mapping's source type is null, as on AWS, and named in a warning; a struct or array "
        "that becomes a string is JSON.",
    ),
    *_differs(
        "filter map",
        "A field that a record of JSON lacks is not in the record, as on AWS, if no other has it as null: else, and within "
        "structs, and of other sources, it is None. An exception of any kind is an error record. Integers of both sizes "
        "together are a long.",
    ),
    *_differs("mapPartitions mapPartitionsWithIndex", "An exception fails the job; there are no error records of it."),
    *_differs(
        "resolveChoice",
        "A path that does not exist is named in a warning. With match_catalog, choices within columns are refused.",
    ),
    *_differs("unnest", "Arrays stay arrays, without join keys: use relationalize for frames of them."),
    *_differs(
        "relationalize",
        "Files of staging_path are Parquet, not CSV; without it, rows are kept in Spark's memory and disks. Maps stay maps.",
    ),
    *_differs("unbox", "Formats json, and csv with withSchema. Numbers in quotes stay strings."),
    *_differs("unnest_ddb_json simplify_ddb_json", "Numbers are strings, as in DynamoDB's exports."),
    *_differs("spigot", "The records are written at once, not when the frame is first used."),
    *_differs(
        "errorsAsDynamicFrame",
        "The struct error has callsite (site: the transform, info), msg, stackTrace and input, the record as JSON.",
    ),
    *_differs(
        "errorsCount stageErrorsCount assertErrorThreshold",
        "They run the transforms for their errors, which only functions, unbox and JSON files have.",
    ),
    *served(_FRAMES, "DynamicFrameCollection", "keys values select map flatmap"),
    *served(
        _TYPES,
        "",
        "DataType AtomicType BinaryType BooleanType ByteType DateType DecimalType DoubleType EnumType FloatType IntegerType "
        "LongType NullType ShortType StringType TimestampType UnknownType ArrayType ChoiceType MapType Field StructType "
        "EntityType mergeDataTypes",
    ),
]

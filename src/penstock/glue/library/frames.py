"""``awsglue.dynamicframe`` and ``awsglue.gluetypes``."""

from collections.abc import Sequence

from penstock.glue.library.rows import Row, differs, served

__all__ = ["ROWS"]

_FRAMES, _TYPES = "awsglue.dynamicframe", "awsglue.gluetypes"

ROWS: Sequence[Row] = [
    *served(_FRAMES, "", "DynamicFrame DynamicFrameCollection ResolveOption"),
    *served(_FRAMES, "DynamicFrame", "toDF schema printSchema show count name glue_ctx"),
    *served(_FRAMES, "DynamicFrame", "getNumPartitions repartition coalesce"),
    *served(_FRAMES, "DynamicFrame", "select_fields drop_fields rename_field union split_fields split_rows"),
    *served(_FRAMES, "DynamicFrame", "join write mergeDynamicFrame with_frame_schema"),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "fromDF",
        "Of a stream with inferSchema, all integers are longs, and text that is not JSON is a row of nulls.",
    ),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "apply_mapping applyMapping",
        "A value whose type is not the mapping's source type is null, as on AWS, and a warning says so; a struct or array "
        "that becomes a string is JSON.",
    ),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "filter map",
        "A field that a record of JSON lacks is not in the record, as on AWS, if no other has it as null: else, and within "
        "structs, and of other sources, it is None. An exception of any kind is an error record. Integers of both sizes "
        "together are a long.",
    ),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "mapPartitions mapPartitionsWithIndex",
        "An exception fails the job; there are no error records of it.",
    ),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "resolveChoice",
        "A path that does not exist is named in a warning. With match_catalog, choices within columns are refused.",
    ),
    *differs(
        _FRAMES, "DynamicFrame", "unnest", "Arrays stay arrays, without join keys: use relationalize for frames of them."
    ),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "relationalize",
        "Files of staging_path are Parquet, not CSV; without it, rows are kept in Spark's memory and disks. Maps stay maps.",
    ),
    *differs(_FRAMES, "DynamicFrame", "unbox", "Formats json, and csv with withSchema. Numbers in quotes stay strings."),
    *differs(_FRAMES, "DynamicFrame", "unnest_ddb_json simplify_ddb_json", "Numbers are strings, as in DynamoDB's exports."),
    *differs(_FRAMES, "DynamicFrame", "spigot", "The records are written at once, not when the frame is first used."),
    *differs(
        _FRAMES,
        "DynamicFrame",
        "errorsAsDynamicFrame",
        "The struct error has callsite (site: the transform, info), msg, stackTrace and input, the record as JSON.",
    ),
    *differs(
        _FRAMES,
        "DynamicFrame",
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

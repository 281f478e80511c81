"""``awsglue.transforms``, ``awsglue.functions``, and the transforms of Glue Studio, data quality and machine learning."""

from collections.abc import Sequence

from penstock.spark.glue.library.rows import Row, differs, refused, served

__all__ = ["ROWS"]

_TRANSFORMS = "awsglue.transforms"
_SQL = "Use toDF() and Spark's own functions."
_DESCRIBED = "Descriptions are of our own classes."
_LEARNED = "Its model is AWS's own; use a library of your choice on toDF()."
_STUDIO = {
    "gs_array_to_cols": "Write toDF().select with one element of the array for each column.",
    "gs_concat": "Write toDF().withColumn with pyspark.sql.functions.concat_ws.",
    "gs_derived": "Write toDF().withColumn with pyspark.sql.functions.expr.",
    "gs_explode": "Write toDF().withColumn with pyspark.sql.functions.explode.",
    "gs_flatten": "Use UnnestFrame, or toDF().select with the structs' fields.",
    "gs_format_timestamp": "Write toDF().withColumn with pyspark.sql.functions.date_format.",
    "gs_identifier": "Write toDF().withColumn with pyspark.sql.functions.monotonically_increasing_id.",
    "gs_lookup": "Write toDF().join with the table's frame.",
    "gs_now": "Write toDF().withColumn with pyspark.sql.functions.current_timestamp.",
    "gs_null_rows": "Write toDF().dropna.",
    "gs_parse_json": "Write toDF().withColumn with pyspark.sql.functions.from_json.",
    "gs_pivot": "Write toDF().groupBy(...).pivot(...).",
    "gs_regex_extract": "Write toDF().withColumn with pyspark.sql.functions.regexp_extract.",
    "gs_repartition": "Write frame.repartition.",
    "gs_split": "Write toDF().withColumn with pyspark.sql.functions.split.",
    "gs_to_timestamp": "Write toDF().withColumn with pyspark.sql.functions.to_timestamp.",
    "gs_unpivot": "Write toDF().unpivot.",
    "gs_uuid": "Write toDF().withColumn with pyspark.sql.functions.uuid.",
}

ROWS: Sequence[Row] = [
    *served(_TRANSFORMS, "", "ApplyMapping DropFields DropNullFields Filter GlueTransform Map RenameField"),
    *served(_TRANSFORMS, "", "Repartition SelectFields Union Coalesce ErrorsAsDynamicFrame FlatMap Join MapToCollection"),
    *served(_TRANSFORMS, "", "SelectFromCollection SplitFields SplitRows"),
    *differs(_TRANSFORMS, "", "Relationalize ResolveChoice Spigot Unbox UnnestFrame", "As the frame's own method."),
    *differs(_TRANSFORMS, "", "get_transforms get_transform describe_transform ALL_TRANSFORMS", _DESCRIBED),
    *refused(
        _TRANSFORMS,
        "",
        "FillMissingValues FindMatches FindIncrementalMatches EntityDetector",
        "On AWS, too, it is in awsglueml.transforms. " + _LEARNED,
    ),
    *refused(
        _TRANSFORMS,
        "",
        "EvaluateDataQuality DynamicFrameCollection",
        "On AWS it is in another module: awsgluedq.transforms, awsglue.dynamicframe.",
    ),
    *refused("awsglue.functions", "", "replaceArrayElement namedStruct explodeWithIndex", _SQL),
    *refused("awsgluedq.transforms", "", "EvaluateDataQuality", "Check the rows with Spark's own functions."),
    *refused("awsglueml.transforms", "", "FillMissingValues FindMatches FindIncrementalMatches EntityDetector", _LEARNED),
    *refused("awsgluedi.transforms", "", "*", "Write the recipe's steps with toDF() and Spark's own functions."),
    *(row for module, note in _STUDIO.items() for row in refused(module, "", "*", note)),
    *(
        row
        for owner in ("Crawler", "Job", "Workflow", "Entities")
        for row in refused(
            f"awsglue.blueprint.{'workflow' if owner == 'Entities' else owner.lower()}",
            "",
            owner,
            "Blueprints are not served: create jobs, triggers and workflows by Glue's API.",
        )
    ),
]

"""``awsglue.transforms``, ``awsglue.functions``, and the transforms of Glue Studio, data quality and machine learning."""

from collections.abc import Sequence

from penstock.glue.library.rows import Row, differs, refused, served

__all__ = ["ROWS"]

_TRANSFORMS = "awsglue.transforms"
_SQL = "Use toDF() and Spark's own functions."
_DESCRIBED = "They describe Penstock's classes."
_LEARNED = "Its model is AWS's own; use a library of your choice on toDF()."
_STUDIO = {
    "gs_array_to_cols gs_derived gs_flatten gs_regex_extract gs_repartition gs_split gs_uuid gs_null_rows": "",
    "gs_format_timestamp gs_pivot": "",
    "gs_concat": "Columns that are null are left out.",
    "gs_extract_json": "The columns are text.",
    "gs_explode": "The elements of a map are structs of key and value.",
    "gs_now": "Without dateFormat a timestamp; with one, text by Python's pattern (with %) or Java's.",
    "gs_parse_json": "All text has to be JSON; use unbox to set other text aside.",
    "gs_sequence_id": "Numbers are Spark's monotonically_increasing_id; with unique, the call's time is before them.",
    "gs_to_timestamp": "colType is autodetect, iso, seconds or milliseconds.",
}
_REFUSED_STUDIO = {
    "gs_lookup": "Write toDF().join with the table's frame.",
    "gs_unpivot": "Write toDF().unpivot.",
}

ROWS: Sequence[Row] = [
    *served(_TRANSFORMS, "", "ApplyMapping DropFields DropNullFields Filter GlueTransform Map RenameField"),
    *served(_TRANSFORMS, "", "Repartition SelectFields Union Coalesce ErrorsAsDynamicFrame FlatMap Join MapToCollection"),
    *served(_TRANSFORMS, "", "SelectFromCollection SplitFields SplitRows"),
    *served(_TRANSFORMS, "GlueTransform", "apply name"),
    *differs(
        _TRANSFORMS, "GlueTransform", "describe describeArgs describeReturn describeTransform describeErrors", _DESCRIBED
    ),
    *differs(_TRANSFORMS, "", "Relationalize ResolveChoice Spigot Unbox UnnestFrame", "As the frame's own method."),
    *differs(_TRANSFORMS, "", "get_transforms get_transform describe_transform ALL_TRANSFORMS", _DESCRIBED),
    *refused(
        _TRANSFORMS,
        "",
        "FillMissingValues FindMatches FindIncrementalMatches EntityDetector",
        "On AWS it is in another module: awsglueml.transforms.",
        elsewhere=True,
    ),
    *refused(
        _TRANSFORMS,
        "",
        "EvaluateDataQuality DynamicFrameCollection",
        "On AWS it is in another module: awsgluedq.transforms, awsglue.dynamicframe.",
        elsewhere=True,
    ),
    *refused("awsglue.functions", "", "replaceArrayElement namedStruct", _SQL),
    *served("awsglue.functions", "", "explodeWithIndex"),
    *differs(
        "awsgluedq.transforms",
        "",
        "EvaluateDataQuality",
        "Rules, and what differs, are in glue-data-quality.md; nothing goes to CloudWatch or to Glue's API.",
    ),
    *served("awsgluedq.transforms", "EvaluateDataQuality", "apply process_rows"),
    *differs(
        "awsglueml.transforms",
        "",
        "EntityDetector",
        "The types of glue-entities.md, by Penstock's own patterns and check digits; other types are refused by name.",
    ),
    *differs("awsglueml.transforms", "EntityDetector", "detect", "detectionSensitivity has no effect."),
    *differs(
        "awsglueml.transforms",
        "EntityDetector",
        "classify_columns",
        "A sample of fewer than 1,000 rows is all rows; the fraction is of the values that are not empty.",
    ),
    *refused(
        "awsglueml.transforms",
        "",
        "FillMissingValues",
        "Its estimates are those of AWS's model: use pyspark.ml.feature.Imputer or na.fill on toDF().",
    ),
    *refused("awsglueml.transforms", "", "FindMatches FindIncrementalMatches", _LEARNED),
    *refused("awsgluedi.transforms", "", "*", "Write the recipe's steps with toDF() and Spark's own functions."),
    *(
        row
        for modules, note in _STUDIO.items()
        for module in modules.split()
        for row in (differs(module, "", module, note) if note else served(module, "", module))
    ),
    *(row for module, note in _REFUSED_STUDIO.items() for row in refused(module, "", "*", note)),
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

"""The error for a name of Glue's library that is not supported, and the table of those names.

A script that uses one gets, at that line, an error that names an alternative, instead of an AttributeError.
"""

from collections.abc import Iterable, Mapping

from penstock.errors import OperationNotServed

__all__ = ["CONTEXT", "FRAME", "MODULE", "TRANSFORMS", "NotSupported", "not_supported"]


class NotSupported(OperationNotServed):
    """AWS's library has this name; Penstock's does not yet."""


_SINK = "Write with Spark's writer: frame.toDF().write, or the DataFrame's own."
_SOURCE = "Read with spark.read, then DynamicFrame.fromDF."
_S3 = "Delete or move the objects with boto3's S3 client."
_LEDGER = "AWS has removed governed tables, too; append with Spark's writer."
_SQL = "Use toDF() and Spark's own functions."


def _each(names: str, remedy: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), remedy)


CONTEXT: Mapping[str, str] = {
    **_each(
        "create_sample_dynamic_frame create_sample_dynamic_frame_from_catalog create_sample_dynamic_frame_from_options",
        _SOURCE,
    ),
    **_each("getCatalogSink getCatalogSource write_dynamic_frame_from_jdbc_conf write_from_jdbc_conf", _SINK),
    "extract_jdbc_conf": "Read the connection with boto3: glue.get_connection(Name=...).",
    "get_catalog_schema_as_spark_schema": "Read the table's columns with boto3: glue.get_table(...).",
    **_each("purge_table purge_s3_path transition_table transition_s3_path", _S3),
    **_each("start_transaction begin_transaction commit_transaction cancel_transaction abort_transaction", _LEDGER),
}
"""Names of GlueContext."""

FRAME: Mapping[str, str] = {
    **_each("unbox split_fields split_rows join unnest relationalize unnest_ddb_json simplify_ddb_json", _SQL),
    **_each("resolveChoice mergeDynamicFrame mapPartitions mapPartitionsWithIndex with_frame_schema", _SQL),
    **_each("write spigot", _SINK),
    **_each(
        "errorsAsDynamicFrame errorsCount stageErrorsCount assertErrorThreshold",
        "There are no error records: an exception of a function fails the batch, which is retried.",
    ),
}
"""Names of DynamicFrame."""

TRANSFORMS: Mapping[str, str] = {
    **_each("ErrorsAsDynamicFrame FillMissingValues FindIncrementalMatches FindMatches FlatMap Join", _SQL),
    **_each("MapToCollection Relationalize ResolveChoice SelectFromCollection Spigot SplitFields SplitRows", _SQL),
    **_each("Unbox UnnestFrame DynamicFrameCollection EvaluateDataQuality", _SQL),
}
"""Names of ``awsglue.transforms``."""


MODULE: Mapping[str, str] = _each("DynamicFrameCollection DynamicFrameReader DynamicFrameWriter ResolveOption", _SQL)
"""Names of ``awsglue.dynamicframe``."""


def not_supported(table: Mapping[str, str], owner: str, name: str, there: Iterable[str] = ()) -> Exception:
    """Return the error for ``owner``'s attribute ``name``: :class:`NotSupported` if AWS has it, else AttributeError."""
    if name in table:
        known = ", ".join(sorted(there))
        supported = f" Supported are: {known}." if known else ""
        return NotSupported(
            f"{owner}.{name} of AWS Glue's library is not supported by Penstock yet.", remedy=f"{table[name]}{supported}"
        )
    return AttributeError(f"{owner} has no attribute {name!r}")

"""``awsglue.context``, ``awsglue.job``, ``awsglue.utils`` and the readers, sources and sinks of a context."""

from collections.abc import Sequence
from functools import partial

from penstock.glue.library.rows import Row, differs, refused, served

__all__ = ["ROWS"]

_CONTEXT, _FRAMES = "awsglue.context", "awsglue.dynamicframe"
_served = partial(served, _CONTEXT, "GlueContext")
_differs = partial(differs, _CONTEXT, "GlueContext")
_refused = partial(refused, _CONTEXT, "GlueContext")
_READ = "Read with spark.read, then DynamicFrame.fromDF."
_WRITE = "Write with Spark's writer: frame.toDF().write, or the DataFrame's own."
_FILES = "Files (parquet, json, csv, orc, avro), postgresql, redshift, dynamodb, iceberg, delta, kafka and kinesis."
_MADE = "The context's get methods return it; how it works inside is Penstock's."
_S3 = "The lake has one storage class; change an object's with boto3's S3 client."
_LEDGER = "AWS has removed governed tables, too; append with Spark's writer."
_JVM = "It belongs to AWS's own JVM classes; use the Python names of this table."
_READS = (
    "Files and tables (csv, json, parquet, orc, avro, xml, grokLog), databases, dynamodb, iceberg, delta; kafka and kinesis."
)
_DATABASES = "One transaction; Redshift's COPY needs a folder in AWS's S3; drivers but PostgreSQL's come by --extra-jars."

ROWS: Sequence[Row] = [
    *served(_CONTEXT, "", "GlueContext"),
    *_served("spark_session add_ingestion_time_columns create_dynamic_frame_from_rdd"),
    *_served(
        "create_data_frame create_dynamic_frame write_dynamic_frame write_data_frame getSource getStreamingSource getSink"
    ),
    *_differs("create_data_frame_from_options create_data_frame_from_catalog", _READS),
    *_differs(
        "forEachBatch", "Option recordPollingLimit has no effect; at least once, and write_batch_once writes a batch once."
    ),
    *_differs("get_logger", "Python's logger; its lines go to standard error, not to CloudWatch."),
    *_differs("write_dynamic_frame_from_options write_from_options", _FILES),
    *_differs("write_dynamic_frame_from_catalog write_data_frame_from_catalog", _FILES),
    *_differs("create_dynamic_frame_from_options create_dynamic_frame_from_catalog", _READS),
    *_refused("getCatalogSource create_sample_dynamic_frame", _READ),
    *_differs(
        "create_sample_dynamic_frame_from_catalog create_sample_dynamic_frame_from_options",
        "sample_options have no effect: all files are listed.",
    ),
    *_refused("getCatalogSink", _WRITE),
    *_differs("write_dynamic_frame_from_jdbc_conf write_from_jdbc_conf", _DATABASES),
    *_served("extract_jdbc_conf"),
    *_differs("purge_table purge_s3_path", "Hidden files stay, which no reader sees."),
    *_served("get_catalog_schema_as_spark_schema"),
    *_refused("transition_table transition_s3_path", _S3),
    *_refused("start_transaction begin_transaction commit_transaction", _LEDGER),
    *_refused("cancel_transaction abort_transaction", _LEDGER),
    *_differs("convert_resolve_option", "The result is a ResolveOption, for toDF."),
    *_served("currentTimeMillis"),
    *served(_FRAMES, "", "DynamicFrameReader DynamicFrameWriter"),
    *served("awsglue.dataframereader", "", "DataFrameReader"),
    *served("awsglue.dataframewriter", "", "DataFrameWriter"),
    *differs("awsglue.data_sink", "", "DataSink", _MADE),
    *differs("awsglue.data_source", "", "DataSource", _MADE),
    *differs("awsglue.streaming_data_source", "", "StreamingDataSource", _MADE),
    *served("awsglue.job", "", "Job"),
    *served("awsglue.job", "Job", "continuation_options job_bookmark_options job_bookmark_range_options"),
    *served("awsglue.job", "Job", "id_params encryption_type_options"),
    *served("awsglue.job", "Job", "isInitialized init commit"),
    *refused("awsglue.dataframe_transforms.apply_mapping", "", "ApplyMapping", "Use awsglue.transforms.ApplyMapping."),
    *refused("awsglue.devutils", "", "*", "It belongs to AWS's notebooks: make a GlueContext in one of your own."),
    *refused("awsglue.glue_shell", "", "*", "It belongs to AWS's notebooks: make a GlueContext in one of your own."),
    *served("awsglue.utils", "", "getResolvedOptions GlueArgumentError GlueArgumentParser strip_option_prefix"),
    *refused("awsglue.utils", "", "makeOptions callsite", _JVM),
]

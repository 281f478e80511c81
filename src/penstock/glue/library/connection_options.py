"""The options of connections: ``connection_options`` of sources and sinks, ``additional_options`` of tables of the catalog.

Source: "Connection types and options for ETL in AWS Glue for Spark" and the page of each type that it leads to,
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-connect.html; of tables, "GlueContext class" and
"Managing partitions for ETL output in AWS Glue". AWS passes other options of JDBC on to Spark's own source.
"""

from collections.abc import Mapping

from penstock.glue.library.format_options import ATTACHED, FORMATS, MERGED, READ_ONLY
from penstock.glue.library.option_rows import OptionRow, by_name, no_effect, not_needed, refused, served

__all__ = ["BATCHES", "PURGE", "READS", "TABLE_READS", "TABLE_WRITES", "WRITES"]

Rows = Mapping[str, OptionRow]

_LISTING = [
    *served("recurse exclusions compressionType compression boundedFiles boundedSize maxBand partitionPredicate"),
    *no_effect("groupFiles groupSize", "Spark shares files among its tasks by their sizes."),
    *no_effect("maxFilesInBand useS3ListImplementation", "All files are listed, in any case."),
    *no_effect("excludeStorageClasses", "Files of every storage class are read; S3 itself refuses archived ones."),
    *no_effect("enableSamplePath", "It is for previews in Glue Studio.", harmless=("false",)),
    *no_effect("samplePath", "It is for previews in Glue Studio."),
    *no_effect("isFailFast", "A file that cannot be read fails the job in any case.", harmless=("true",)),
]
_UPDATE = served("partitionKeys compression enableUpdateCatalog updateBehavior useGlueParquetWriter")
_S3 = by_name(
    served("paths path"), _LISTING, MERGED, no_effect("catalogPartitionPredicate", "It is for tables of the catalog.")
)
_S3_SINK = by_name(
    served("path compressionType"),
    _UPDATE,
    no_effect("groupFiles groupSize maxBand maxFilesInBand", "It is for sources."),
    no_effect("maxRecordsPerFile", "A file has the rows of one task."),
)

_DATABASE = served("url user username password database dbtable useConnectionProperties connectionName")
_ROWS_READ = [
    *served("sampleQuery query sampleSize enablePartitioningForSampleQuery hashfield hashexpression hashpartitions"),
    *served("fetchsize jobBookmarkKeys jobBookmarkKeysSortOrder jobBookmarksKeysSortOrder"),
    *no_effect("partitionColumn lowerBound upperBound numPartitions", "hashexpression and hashpartitions read in parallel."),
    *refused("customSchema", "Leave it out, and cast the columns with ApplyMapping."),
    *refused("sessionInitStatement", "Set what it sets for the login, in the database."),
    *refused("prepareQuery", "Write it into sampleQuery."),
]
_ROWS_WRITTEN = [
    *served("preactions postactions"),
    *refused("createTableOptions createTableColumnTypes", "Make the table before the write."),
    *no_effect("truncate", "Rows are added to those of the table."),
    *no_effect("isolationLevel", "A write is one transaction."),
]
_ANY_DATABASE = [
    *no_effect("bulkSize batchsize numPartitions queryTimeout", "Rows are moved in batches of the driver's."),
    *served("redshiftTmpDir TempDir tempdir tempdir_region aws_iam_role aws_iam_user sse_kms_key"),
    *served("extracopyoptions extraunloadoptions"),
    *not_needed("tempformat autopushdown autopushdown.s3_result_cache unload_s3_format csvnullstring csvseparatorstring"),
    *not_needed("forward_spark_s3_credentials include_column_list"),
    *refused("DbUser", "Logins by IAM are not made: give user and password, or a connection with a secret."),
]
_REDSHIFT = [
    *no_effect("hashfield", "AWS reads Redshift in one part, too; hashexpression reads it in parallel here."),
]
_REDSHIFT_WRITE = [
    *no_effect("usestagingtable", "A write is one transaction."),
    *no_effect("distkey diststyle sortkeyspec", "Rows are added to the table as it is; make it before with its keys."),
]
_DRIVER = served("customJdbcDriverS3Path customJdbcDriverClassName")

_DYNAMODB = [
    *served("dynamodb.region dynamodb.sts.roleArn dynamodb.sts.roleSessionName"),
    *not_needed("dynamodb.sts.region"),
]
_DYNAMODB_READ = by_name(
    served("dynamodb.input.tableName dynamodb.tableArn dynamodb.splits dynamodb.throughput.read.percent dynamodb.export"),
    served("dynamodb.unnestDDBJson dynamodb.simplifyDDBJson"),
    refused("dynamodb.exportTime", "The table is read as it is now."),
    served("dynamodb.s3.bucket dynamodb.s3.prefix"),
    # How AWS writes the export that it reads.
    not_needed("dynamodb.s3.bucketOwner dynamodb.s3.sse.algorithm dynamodb.s3.sse.kmsKeyId dynamodb.consistentRead"),
    _DYNAMODB,
)
_DYNAMODB_WRITE = by_name(
    served("dynamodb.output.tableName dynamodb.throughput.write.percent dynamodb.output.numParallelTasks"),
    no_effect("dynamodb.output.retry", "Requests are retried with growing pauses."),
    _DYNAMODB,
)

_ICEBERG_READ = [
    *served("snapshot-id as-of-timestamp branch tag"),
    *refused("start-snapshot-id end-snapshot-id", 'Read the changes with spark.read.format("iceberg").'),
    *no_effect("split-size lookback file-open-cost vectorization-enabled batch-size", "Iceberg chooses it."),
]
_ICEBERG_WRITE = [
    *served("mergeSchema check-nullability check-ordering fanout-enabled distribution-mode target-file-size-bytes"),
    *served("write-format compression-codec compression-level"),
]
_DELTA_READ = [
    *served("versionAsOf timestampAsOf"),
    *refused(
        "readChangeFeed readChangeData startingVersion startingTimestamp endingVersion endingTimestamp",
        'Read the changes with spark.read.format("delta").',
    ),
]
_DELTA_WRITE = [
    *served("partitionKeys mode mergeSchema overwriteSchema replaceWhere"),
    *refused("partitionOverwriteMode", "Name what is replaced in replaceWhere.", harmless=("static",)),
    *refused("txnAppId txnVersion", 'Write with Spark\'s own writer: frame.toDF().write.format("delta").'),
    *no_effect("optimizeWrite maxRecordsPerFile compression", "Delta chooses it."),
]

_RECORDS = served("classification schema avroSchema inferSchema delimiter addRecordTimestamp")
_KAFKA = by_name(
    served("connectionName bootstrap.servers security.protocol topicName assign subscribePattern startingOffsets"),
    served("endingOffsets"),
    served("startingTimestamp maxOffsetsPerTrigger minPartitions pollTimeoutMs numRetries retryIntervalMs failOnDataLoss"),
    served("includeHeaders kafka.*"),
    _RECORDS,
    no_effect("emitConsumerLagMetrics", "There is no CloudWatch.", harmless=("false",)),
    refused("typeOfData", "This is the kafka source.", harmless=("kafka",)),
)
_KINESIS = by_name(
    served("streamARN streamName endpointUrl region startingPosition awsSTSRoleARN awsSTSSessionName awsSTSEndpoint"),
    served("fanoutConsumerARN fanoutConsumerName maxFetchTimeInMs maxFetchRecordsPerShard maxRecordPerRead failOnDataLoss"),
    served("addIdleTimeBetweenReads idleTimeBetweenReadsInMs describeShardInterval numRetries retryIntervalMs"),
    served("maxRetryIntervalMs avoidEmptyBatches emitConsumerLagMetrics maxInlineBytes prefetchLocation"),
    _RECORDS,
    refused("typeOfData", "This is the kinesis source.", harmless=("kinesis",)),
)

_KAFKA_SINK = by_name(
    served("connectionName bootstrap.servers security.protocol topic topicName key partition classification delimiter"),
    served("avroSchema kafka.*"),
    refused("typeOfData", "This is the kafka sink.", harmless=("kafka",)),
)
_KINESIS_SINK = by_name(
    served("streamARN streamName endpointUrl region awsSTSRoleARN awsSTSSessionName awsSTSEndpoint partitionKey"),
    served("aggregationEnabled"),
    no_effect("recordMaxBufferedTime producerRateLimit", "Records are sent as fast as the stream takes them."),
    no_effect("aggregationMaxSize aggregationMaxCount collectionMaxCount collectionMaxSize", "Kinesis's limits bound them."),
    not_needed("failOnDataLoss"),
    refused("classification", "Records are written as json.", harmless=("json",)),
    refused("typeOfData", "This is the kinesis sink.", harmless=("kinesis",)),
)

_DATABASES = ("postgresql", "mysql", "sqlserver", "oracle", "jdbc", "redshift")
_FILES = ("s3", "file")


def _database(engine: str, rows: list[OptionRow]) -> Rows:
    before = _REDSHIFT if engine == "redshift" else ()
    behind = _REDSHIFT_WRITE if rows is _ROWS_WRITTEN and engine in {"redshift", "jdbc"} else ()
    return by_name(before, _DATABASE, rows, _ANY_DATABASE, _DRIVER, behind)


READS: Mapping[str, tuple[str, Rows]] = {
    **dict.fromkeys((*_FILES, *FORMATS), ("the s3 source", _S3)),
    **{engine: (f"the {engine} source", _database(engine, _ROWS_READ)) for engine in _DATABASES},
    "dynamodb": ("the dynamodb source", _DYNAMODB_READ),
    "iceberg": ("the iceberg source", by_name(served("path"), _ICEBERG_READ)),
    "delta": ("the delta source", by_name(served("path paths"), _DELTA_READ)),
    "kafka": ("the kafka source", _KAFKA),
    "kinesis": ("the kinesis source", _KINESIS),
}
"""By connection type: the owner that messages name, and its options."""

WRITES: Mapping[str, tuple[str, Rows]] = {
    **dict.fromkeys((*_FILES, *(format_ for format_ in FORMATS if format_ not in READ_ONLY)), ("the s3 sink", _S3_SINK)),
    **{engine: (f"the {engine} sink", _database(engine, _ROWS_WRITTEN)) for engine in _DATABASES},
    "dynamodb": ("the dynamodb sink", _DYNAMODB_WRITE),
    "iceberg": ("the iceberg sink", by_name(served("path"), _ICEBERG_WRITE)),
    "delta": ("the delta sink", by_name(served("path"), _DELTA_WRITE)),
    "kafka": ("the kafka sink", _KAFKA_SINK),
    "kinesis": ("the kinesis sink", _KINESIS_SINK),
}
"""As :data:`READS`, of sinks."""

_OF_TABLES = [
    *served("catalogPartitionPredicate useCatalogSchema push_down_predicate pushDownPredicate"),
    *not_needed("useSparkDataSource"),  # the rows are the same
]

TABLE_READS: Mapping[str, Rows] = {
    **{
        f"the read of a table of {form}": by_name(_OF_TABLES, _LISTING, rows, ATTACHED, MERGED)
        for form, rows in FORMATS.items()
    },
    "the read of a database's table": by_name(_ROWS_READ, _ANY_DATABASE),
    "the read of an Iceberg table": by_name(_ICEBERG_READ),
    "the read of a Delta table": by_name(_DELTA_READ),
}
"""By owner: ``additional_options`` of reads of tables of the catalog that have no connection type of their own."""

TABLE_WRITES: Mapping[str, Rows] = {
    "the write to a table": by_name(_UPDATE),
    "the write to a database's table": by_name(_ROWS_WRITTEN, _ANY_DATABASE, _REDSHIFT, _REDSHIFT_WRITE),
    "the write to an Iceberg table": by_name(_ICEBERG_WRITE),
    "the write to a Delta table": by_name(_DELTA_WRITE),
}
"""As :data:`TABLE_READS`, of writes."""

BATCHES: Rows = by_name(
    served("windowSize checkpointLocation batchMaxRetries persistDataFrame storageLevel"),
    no_effect("batchMaxPollingTimeSeconds", "A batch is what the source has when it begins."),
    # An option of AWS's previews of streams, which scripts give to their batches.
    no_effect("recordPollingLimit", "Bound a batch by maxOffsetsPerTrigger or maxFetchRecordsPerShard of the source."),
)
"""The options of ``forEachBatch``."""

PURGE: Rows = by_name(served("retentionPeriod partitionPredicate manifestFilePath excludeStorageClasses"))
"""The options of ``purge_table`` and ``purge_s3_path``."""

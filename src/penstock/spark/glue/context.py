"""GlueContext: sources by Glue's options, ``forEachBatch``, and access to Spark's session.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-glue-context.html
"""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.client.catalog import CatalogClient
from penstock.client.connections import glue_connection
from penstock.client.secrets import broker_credentials
from penstock.errors import InvalidInput
from penstock.spark.glue.catalog_stream import stream_options
from penstock.spark.glue.connections import KafkaConnection, kafka_connection
from penstock.spark.glue.errors import CONTEXT, not_supported
from penstock.spark.glue.frames.dynamic_frame import DynamicFrame
from penstock.spark.glue.kafka import kafka_stream
from penstock.spark.glue.options import Options
from penstock.spark.glue.payload import payload_of
from penstock.spark.glue.sink import write_frame
from penstock.spark.glue.streaming import BatchFunction, for_each_batch
from penstock.spark.hadoop import HadoopFiles
from penstock.spark.sources.kinesis.options import OPTION_NAMES, kinesis_options
from penstock.spark.sources.kinesis.source import FORMAT, KinesisDataSource

__all__ = ["GlueContext"]

_KINESIS_RAW = ("data", "streamName", "partitionKey", "sequenceNumber", "approximateArrivalTimestamp")
_GRAINS = ("year", "month", "day", "hour", "minute")


class GlueContext:
    """The context that Glue scripts make from their SparkContext. It also has the names of Spark's own session.

    ``spark_session`` is the session; ``options`` are AWS's for reading batches and have no effect on streams.
    """

    def __init__(self, sparkContext: SparkContext, **options: Any) -> None:  # noqa: ARG002, N803
        self.spark_session: SparkSession = SparkSession(sparkContext)
        self.create_data_frame = _Reader(self.create_data_frame_from_options, self.create_data_frame_from_catalog)
        self.create_dynamic_frame = _Reader(
            self.create_dynamic_frame_from_options, lambda *_, **__: self._refuse("create_dynamic_frame_from_catalog")
        )
        self.write_dynamic_frame = _Writer(self)

    def create_data_frame_from_options(  # noqa: PLR0917 - AWS's signature
        self,
        connection_type: str,
        connection_options: Mapping[str, Any] | None = None,
        format: str | None = None,
        format_options: Mapping[str, Any] | None = None,
        transformation_ctx: str = "",  # noqa: ARG002
        push_down_predicate: str = "",  # noqa: ARG002
        **_: Any,
    ) -> DataFrame:
        """Return the stream of ``connection_type`` (``kafka``, ``kinesis``). Raises :class:`InvalidInput`."""
        if format is not None or format_options:
            raise InvalidInput(
                "A stream does not use the option format.",
                remedy="Describe the records in connection_options: classification, schema.",
            )
        kind = connection_type.strip().lower()
        if kind == "kafka":
            return kafka_stream(self.spark_session, connection_options or {}, self._connection)
        if kind == "kinesis":
            return self._kinesis(connection_options or {})
        raise InvalidInput(
            f"Connection type {connection_type!r} is not supported for streams.",
            remedy="Use kafka or kinesis; read batches with spark.read.",
        )

    def create_data_frame_from_catalog(
        self,
        database: str,
        table_name: str,
        transformation_ctx: str = "",  # noqa: ARG002
        additional_options: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> DataFrame:
        """Return the stream that a table of the catalog describes; ``additional_options`` of the source override its own.

        Raises :class:`penstock.errors.NotFound` if the table does not exist, and the errors of
        :meth:`create_data_frame_from_options`.
        """
        found = CatalogClient().table(database, table_name)
        kind, options = stream_options(cast("Mapping[str, Any]", found), additional_options or {})
        return self.create_data_frame_from_options(kind, options)

    def create_dynamic_frame_from_options(self, *_: Any, **__: Any) -> DynamicFrame:
        """Not supported yet."""
        raise not_supported(
            {"create_dynamic_frame.from_options": "Read with spark.read, then DynamicFrame.fromDF."},
            "GlueContext",
            "create_dynamic_frame.from_options",
        )

    def create_dynamic_frame_from_rdd(
        self,
        data: Any,
        name: str,
        schema: Any = None,
        sample_ratio: float | None = None,
        transformation_ctx: str = "",  # noqa: ARG002
    ) -> DynamicFrame:
        """Return a frame of an RDD or a list of rows."""
        return DynamicFrame.fromDF(self.spark_session.createDataFrame(data, schema, sample_ratio), self, name)

    def forEachBatch(  # noqa: N802
        self, frame: DataFrame, batch_function: BatchFunction, options: Mapping[str, Any] | None = None
    ) -> None:
        """See :func:`penstock.spark.glue.streaming.for_each_batch`."""
        for_each_batch(frame, batch_function, options or {})

    def write_dynamic_frame_from_options(  # noqa: PLR0917 - AWS's signature
        self,
        frame: DynamicFrame,
        connection_type: str,
        connection_options: Mapping[str, Any] | None = None,
        format: str | None = None,
        format_options: Mapping[str, Any] | None = None,
        transformation_ctx: str = "",  # noqa: ARG002
    ) -> DynamicFrame:
        """Append a frame to files under an ``s3://`` path, partitioned by ``partitionKeys``; return the frame."""
        write_frame(frame.toDF(), connection_type, connection_options or {}, format, format_options or {})
        return frame

    def add_ingestion_time_columns(self, frame: DataFrame, time_granularity: str) -> DataFrame:
        """Return ``frame`` with ingest_year and so on down to ``time_granularity``, such as ``hour``: strings, in UTC."""
        grain = time_granularity.strip().lower()
        if grain not in _GRAINS:
            raise InvalidInput(f"{time_granularity!r} is not a granularity.", remedy=f"Use one of {', '.join(_GRAINS)}.")
        now = datetime.now(UTC)
        for name in _GRAINS[: _GRAINS.index(grain) + 1]:
            value = getattr(now, name)
            frame = frame.withColumn(f"ingest_{name}", F.lit(f"{value:04d}" if name == "year" else f"{value:02d}"))
        return frame

    def get_logger(self) -> logging.Logger:
        """Return a logger with info, warn and error; ``penstock glue run`` prints its messages on standard error."""
        return logging.getLogger("awsglue.script")

    def _kinesis(self, given: Mapping[str, Any]) -> DataFrame:
        options = Options("the kinesis source", given)
        kinesis_options(options)
        arrived = options.flag("addRecordTimestamp")
        payload = payload_of(options, "Kinesis")
        options.finish()
        source = {name: given[name] for name in OPTION_NAMES if given.get(name) is not None}
        self.spark_session.dataSource.register(KinesisDataSource)
        records = self.spark_session.readStream.format(FORMAT).options(**source).load()
        extra = {"approximateArrivalTimestamp": "__src_timestamp"} if arrived else {}
        return payload.frame(records, "data", extra=extra, raw=_KINESIS_RAW)

    def _connection(self, name: str) -> KafkaConnection:
        files = HadoopFiles(self.spark_session)
        return kafka_connection(glue_connection(name), secret=broker_credentials, read=files.read)

    def _refuse(self, name: str) -> Any:
        raise not_supported(CONTEXT, "GlueContext", name)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name not in CONTEXT and name != "spark_session":
            return getattr(self.spark_session, name)
        raise not_supported(CONTEXT, "GlueContext", name)


class _Reader:
    """``create_data_frame`` and ``create_dynamic_frame``: the same functions under another spelling."""

    def __init__(self, from_options: Callable[..., Any], from_catalog: Callable[..., Any]) -> None:
        self.from_options = from_options
        self.from_catalog = from_catalog


class _Writer:
    """``write_dynamic_frame``."""

    def __init__(self, context: GlueContext) -> None:
        self.from_options = context.write_dynamic_frame_from_options
        self._context = context

    def __getattr__(self, name: str) -> Any:
        raise not_supported(CONTEXT, "GlueContext", f"write_dynamic_frame_{name}" if not name.startswith("_") else name)

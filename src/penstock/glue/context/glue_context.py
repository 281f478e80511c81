"""GlueContext: sources by Glue's options, ``forEachBatch``, and access to Spark's session.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-glue-context.html
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from penstock.errors import InvalidInput
from penstock.glue.connections.databases import jdbc_configuration
from penstock.glue.context.access import (
    DataFrameReader,
    DataFrameWriter,
    DataSink,
    DataSource,
    DynamicFrameReader,
    DynamicFrameWriter,
    catalog_table,
    database_of,
    frame_from_options,
    table_frame,
    write_frames,
)
from penstock.glue.context.purge import purge_path, purge_table
from penstock.glue.context.streaming import BatchFunction, for_each_batch
from penstock.glue.errors import CONTEXT, not_supported
from penstock.glue.frames.dynamic_frame import DynamicFrame, ResolveOption
from penstock.glue.payload import with_inferred_columns
from penstock.glue.schemas.choices import without_marks
from penstock.glue.session import GlueSession
from penstock.glue.sinks.kinds import write, write_table
from penstock.glue.sinks.port import Write
from penstock.glue.sources.file_tables import table_schema
from penstock.glue.sources.kinds import read
from penstock.glue.sources.kinesis import GlueKinesis
from penstock.glue.sources.port import Read

__all__ = ["GlueContext"]

Options = Mapping[str, Any] | None

_GRAINS = ("year", "month", "day", "hour", "minute")


class GlueContext:
    """The context that Glue scripts make from their SparkContext. It also has the names of Spark's own session.

    ``spark_session`` is the session; ``options`` are AWS's for the number of partitions and have no effect.
    """

    def __init__(self, sparkContext: SparkContext | None = None, **options: Any) -> None:  # noqa: ARG002, N803
        context = sparkContext or SparkContext.getOrCreate()
        self.spark_session: SparkSession = SparkSession(context)
        self._sc, self._jsc, self._jvm = context, context._jsc, context._jvm
        self._session = GlueSession(self.spark_session)
        self.spark_session.dataSource.register(GlueKinesis)
        self.create_data_frame = DataFrameReader(self)
        self.create_dynamic_frame = DynamicFrameReader(self)
        self.write_dynamic_frame = DynamicFrameWriter(self)
        self.write_data_frame = DataFrameWriter(self)

    def getSource(  # noqa: N802 - AWS's signature
        self,
        connection_type: str,
        format: str | None = None,
        transformation_ctx: str = "",
        push_down_predicate: str = "",
        **options: Any,
    ) -> DataSource:
        """Return a source of ``connection_type``, whose ``getFrame`` reads it."""
        return DataSource(
            self, self._read(connection_type, options, format, {}, transformation_ctx, push_down_predicate), "source"
        )

    def getStreamingSource(  # noqa: N802
        self, connection_type: str, transformation_ctx: str = "", **options: Any
    ) -> DataSource:
        """Return a source of ``connection_type``, whose ``getDataFrame`` is the stream."""
        return DataSource(self, self._read(connection_type, options, None, {}, transformation_ctx, ""), "source")

    def create_data_frame_from_options(  # noqa: PLR0917 - AWS's signature
        self,
        connection_type: str,
        connection_options: Options = None,
        format: str | None = None,
        format_options: Options = None,
        transformation_ctx: str = "",
        push_down_predicate: str = "",
        **_: Any,
    ) -> DataFrame:
        """Return the stream of ``connection_type`` (``kafka``, ``kinesis``), or what a batch reads of another type.

        Raises :class:`InvalidInput` for a type that is not supported and for its options.
        """
        return frame_from_options(
            self._read(connection_type, connection_options, format, format_options, transformation_ctx, push_down_predicate)
        )

    def create_data_frame_from_catalog(  # noqa: PLR0917 - AWS's signature
        self,
        database: str | None = None,
        table_name: str | None = None,
        redshift_tmp_dir: str = "",
        transformation_ctx: str = "",
        push_down_predicate: str = "",
        additional_options: Options = None,
        catalog_id: str | None = None,
        name_space: str | None = None,
        **_: Any,
    ) -> DataFrame:
        """Return the stream that a table of the catalog describes, or its rows.

        ``additional_options`` of the source override the table's. Raises :class:`penstock.errors.NotFound` if the table does
        not exist, and :class:`InvalidInput` for the options.
        """
        frame = self._table_rows(
            database,
            name_space,
            table_name,
            catalog_id,
            additional_options,
            transformation_ctx=transformation_ctx,
            push_down_predicate=push_down_predicate,
            temporary=redshift_tmp_dir,
        )
        return frame if frame.isStreaming else without_marks(with_inferred_columns(frame))

    def create_dynamic_frame_from_options(  # noqa: PLR0917 - AWS's signature
        self,
        connection_type: str,
        connection_options: Options = None,
        format: str | None = None,
        format_options: Options = None,
        transformation_ctx: str = "",
        push_down_predicate: str = "",
        **_: Any,
    ) -> DynamicFrame:
        """Return what the connection has now. Raises :class:`InvalidInput` for the type and for its options."""
        request = self._read(
            connection_type, connection_options, format, format_options, transformation_ctx, push_down_predicate
        )
        return DynamicFrame.fromDF(read(request), self, transformation_ctx)

    def create_dynamic_frame_from_catalog(  # noqa: PLR0917 - AWS's signature
        self,
        database: str | None = None,
        table_name: str | None = None,
        redshift_tmp_dir: str = "",
        transformation_ctx: str = "",
        push_down_predicate: str = "",
        additional_options: Options = None,
        catalog_id: str | None = None,
        name_space: str | None = None,
        **_: Any,
    ) -> DynamicFrame:
        """Return the rows of a table of the catalog.

        Raises :class:`penstock.errors.NotFound` if the table does not exist, and :class:`InvalidInput` for the options.
        """
        frame = self._table_rows(
            database,
            name_space,
            table_name,
            catalog_id,
            additional_options,
            transformation_ctx=transformation_ctx,
            push_down_predicate=push_down_predicate,
            temporary=redshift_tmp_dir,
        )
        return DynamicFrame.fromDF(frame, self, table_name or "")

    def get_catalog_schema_as_spark_schema(
        self, database: str | None = None, table_name: str | None = None, catalog_id: str | None = None
    ) -> StructType:
        """Return the columns of a table of the catalog, partition keys behind, as Spark's schema."""
        table = catalog_table(self._session, database_of(database, None), table_name, catalog_id=catalog_id)
        return table_schema(table)

    def create_sample_dynamic_frame_from_catalog(  # noqa: PLR0917 - AWS's signature
        self,
        database: str | None = None,
        table_name: str | None = None,
        num: int = 100,
        sample_options: Options = None,
        redshift_tmp_dir: str = "",
        transformation_ctx: str = "",  # noqa: ARG002
        push_down_predicate: str = "",
        additional_options: Options = None,
        catalog_id: str | None = None,
        **more: Any,
    ) -> DynamicFrame:
        """Return the first ``num`` rows of a table, without a bookmark; see :meth:`create_dynamic_frame_from_catalog`.

        The order is that of AWS's library, where ``sample_options`` is the fourth; AWS's page names another one.
        """
        _check_sample_options(sample_options)
        frame = self.create_dynamic_frame_from_catalog(
            database, table_name, redshift_tmp_dir, "", push_down_predicate, additional_options, catalog_id, **more
        )
        return frame._first(num)

    def create_sample_dynamic_frame_from_options(  # noqa: PLR0917 - AWS's signature
        self,
        connection_type: str,
        connection_options: Options = None,
        num: int = 100,
        sample_options: Options = None,
        format: str | None = None,
        format_options: Options = None,
        transformation_ctx: str = "",  # noqa: ARG002
        push_down_predicate: str = "",
        **more: Any,
    ) -> DynamicFrame:
        """Return the first ``num`` rows of a connection, without a bookmark.

        See :meth:`create_dynamic_frame_from_options`.
        """
        _check_sample_options(sample_options)
        frame = self.create_dynamic_frame_from_options(
            connection_type, connection_options, format, format_options, "", push_down_predicate, **more
        )
        return frame._first(num)

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
        """See :func:`penstock.glue.context.streaming.for_each_batch`."""
        for_each_batch(frame, batch_function, options or {})

    def getSink(  # noqa: N802
        self, connection_type: str, format: str | None = None, transformation_ctx: str = "", **options: Any
    ) -> DataSink:
        """Return a sink of ``connection_type``, whose ``writeFrame`` writes. Raises :class:`InvalidInput` for the type."""
        return DataSink(self._write(connection_type, options, format, {}, transformation_ctx))

    def write_from_options(  # noqa: PLR0917 - AWS's signature
        self,
        frame_or_dfc: Any = None,
        connection_type: str = "",
        connection_options: Options = None,
        format: str | None = None,
        format_options: Options = None,
        transformation_ctx: str = "",
        **more: Any,
    ) -> Any:
        """Write a DynamicFrame or a DataFrame, all its rows or none, and return it; of a collection each frame.

        As on AWS, the frames of a collection go to the same place. They are written one after another.
        """
        frame = frame_or_dfc if frame_or_dfc is not None else more.get("frame")
        request = self._write(connection_type, connection_options, format, format_options, transformation_ctx)
        return write_frames(frame, write, request)

    write_dynamic_frame_from_options = write_from_options

    def write_dynamic_frame_from_catalog(  # noqa: PLR0917 - AWS's signature
        self,
        frame: Any,
        database: str | None = None,
        table_name: str | None = None,
        redshift_tmp_dir: str = "",
        transformation_ctx: str = "",
        additional_options: Options = None,
        catalog_id: str | None = None,
        name_space: str | None = None,
        **_: Any,
    ) -> Any:
        """Write a frame, or each one of a collection, to a table of the catalog and return it.

        Raises :class:`penstock.errors.NotFound` if the table does not exist, and :class:`InvalidInput` for the options.
        """
        if not table_name:
            raise InvalidInput("Parameter table_name is missing.", remedy="Give database and table_name.")
        request = Write(
            session=self._session,
            connection_type="catalog",
            options=additional_options or {},
            transformation_ctx=transformation_ctx,
            database=database_of(database, name_space),
            table=table_name,
            catalog_id=catalog_id,
            temporary=redshift_tmp_dir,
        )
        return write_frames(frame, write_table, request)

    write_data_frame_from_catalog = write_dynamic_frame_from_catalog

    def write_dynamic_frame_from_jdbc_conf(  # noqa: PLR0917 - AWS's signature
        self,
        frame: Any,
        catalog_connection: str,
        connection_options: Options = None,
        redshift_tmp_dir: str = "",
        transformation_ctx: str = "",
        catalog_id: str | None = None,  # noqa: ARG002
        **_: Any,
    ) -> Any:
        """Append a frame, or each one of a collection, to ``dbtable`` of a connection's database, and return it.

        Raises :class:`penstock.errors.NotFound` for the connection, and :class:`InvalidInput` for the options.
        """
        vendor = jdbc_configuration(self._session.connection(catalog_connection))["vendor"] or ""
        options = {**(connection_options or {}), "useConnectionProperties": True, "connectionName": catalog_connection}
        request = replace(self._write(vendor, options, None, {}, transformation_ctx), temporary=redshift_tmp_dir)
        return write_frames(frame, write, request)

    def write_from_jdbc_conf(
        self,
        frame_or_dfc: Any,
        catalog_connection: str,
        connection_options: Options = None,
        redshift_tmp_dir: str = "",
        transformation_ctx: str = "",
        **more: Any,
    ) -> Any:
        """:meth:`write_dynamic_frame_from_jdbc_conf`, where AWS has another name for the frame."""
        return self.write_dynamic_frame_from_jdbc_conf(
            frame_or_dfc, catalog_connection, connection_options, redshift_tmp_dir, transformation_ctx, **more
        )

    def extract_jdbc_conf(self, connection_name: str, catalog_id: str | None = None) -> dict[str, str | None]:  # noqa: ARG002
        """Return url, fullUrl, user, password, vendor and the settings of TLS of a connection of the catalog.

        Raises :class:`penstock.errors.NotFound` for the connection, and :class:`InvalidInput` for one of another type.
        """
        return jdbc_configuration(self._session.connection(connection_name))

    def purge_table(
        self,
        database: str,
        table_name: str,
        options: Options = None,
        transformation_ctx: str = "",
        catalog_id: str | None = None,
    ) -> None:
        """See :func:`penstock.glue.context.purge.purge_table`."""
        table = catalog_table(self._session, database, table_name, catalog_id=catalog_id)
        purge_table(self._session, table, options or {}, transformation_ctx)

    def purge_s3_path(self, s3_path: str, options: Options = None, transformation_ctx: str = "") -> None:
        """See :func:`penstock.glue.context.purge.purge_path`."""
        purge_path(self._session, s3_path, options or {}, transformation_ctx)

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

    def currentTimeMillis(self) -> int:  # noqa: N802
        """Return the milliseconds since 1970."""
        return int(time.time() * 1000)

    def convert_resolve_option(self, path: str, action: str, target: Any) -> ResolveOption:
        """Return what ``toDF`` does with the choice at ``path``: :class:`ResolveOption`."""
        return ResolveOption(path, action, target)

    def get_logger(self) -> logging.Logger:
        """Return a logger with info, warn and error; ``penstock glue run`` prints its messages on standard error."""
        return logging.getLogger("awsglue.script")

    def _table_rows(
        self,
        database: str | None,
        name_space: str | None,
        table_name: str | None,
        catalog_id: str | None,
        options: Options,
        **request: Any,
    ) -> DataFrame:
        name = database_of(database, name_space)
        return table_frame(self._session, name, table_name, catalog_id=catalog_id or None, options=options or {}, **request)

    def _read(  # noqa: PLR0917
        self,
        connection_type: str,
        options: Options,
        form: str | None,
        format_options: Options,
        transformation_ctx: str,
        push_down_predicate: str,
    ) -> Read:
        return Read(
            session=self._session,
            connection_type=connection_type.strip().lower(),
            options=options or {},
            format=form,
            format_options=format_options or {},
            transformation_ctx=transformation_ctx,
            push_down_predicate=push_down_predicate,
        )

    def _write(
        self, connection_type: str, options: Options, form: str | None, format_options: Options, transformation_ctx: str
    ) -> Write:
        return Write(
            session=self._session,
            connection_type=connection_type.strip().lower(),
            options=options or {},
            format=form,
            format_options=format_options or {},
            transformation_ctx=transformation_ctx,
        )

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name not in CONTEXT and name != "spark_session":
            return getattr(self.spark_session, name)
        raise not_supported(CONTEXT, "GlueContext", name)


def _check_sample_options(options: Any) -> None:
    # They change no row. A text here is AWS's page's order of parameters, which AWS's library does not take.
    if options is not None and not isinstance(options, Mapping):
        raise InvalidInput(
            f"sample_options has to be a dict, and is {options!r}.", remedy="Give the parameters behind num by their names."
        )

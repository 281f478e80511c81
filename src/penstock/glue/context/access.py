"""Glue's spellings of reads and writes: ``create_dynamic_frame``, ``write_dynamic_frame``, ``getSource``, ``getSink``.

Sources: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame-reader.html and
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame-writer.html
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.errors import CONTEXT, not_supported
from penstock.glue.frames.dynamic_frame import DynamicFrame, DynamicFrameCollection
from penstock.glue.payload import with_inferred_columns
from penstock.glue.schemas.choices import without_marks
from penstock.glue.session import GlueSession
from penstock.glue.sinks.kinds import check_kind, write
from penstock.glue.sinks.port import Write
from penstock.glue.sources.kinds import read, read_stream, read_table
from penstock.glue.sources.port import Read, Table

__all__ = [
    "DataFrameReader",
    "DataFrameWriter",
    "DataSink",
    "DataSource",
    "DynamicFrameReader",
    "DynamicFrameWriter",
    "FrameReader",
    "FrameWriter",
    "catalog_table",
    "database_of",
    "frame_from_options",
    "table_frame",
    "write_frames",
]


class DataSource:
    """What ``getSource`` and ``getStreamingSource`` return: a read, whose format may be given later."""

    def __init__(self, glue_ctx: Any, request: Read, name: str = "") -> None:
        self._glue_ctx = glue_ctx
        self._request = request
        self.name = name

    def setFormat(self, format: str, **options: Any) -> None:  # noqa: N802
        """Read files of ``format`` with its options."""
        self._request = replace(self._request, format=format, format_options=options)

    def getFrame(self, **_: Any) -> DynamicFrame:  # noqa: N802
        """Return the rows that the source has now; numbers of partitions have no effect."""
        return DynamicFrame.fromDF(read(self._request), self._glue_ctx, self.name)

    def getDataFrame(self) -> DataFrame:  # noqa: N802
        """Return the stream, or the rows that the source has now, as Spark's DataFrame."""
        return frame_from_options(self._request)


class FrameReader:
    """``create_data_frame`` and ``create_dynamic_frame``: the context's methods under another spelling."""

    def __init__(
        self, from_options: Callable[..., Any], from_catalog: Callable[..., Any], from_rdd: Callable[..., Any]
    ) -> None:
        self.from_options = from_options
        self.from_catalog = from_catalog
        self.from_rdd = from_rdd


class DynamicFrameReader(FrameReader):
    """``create_dynamic_frame`` of a GlueContext."""

    def __init__(self, glue_context: Any) -> None:
        super().__init__(
            glue_context.create_dynamic_frame_from_options,
            glue_context.create_dynamic_frame_from_catalog,
            glue_context.create_dynamic_frame_from_rdd,
        )


class DataFrameReader(FrameReader):
    """``create_data_frame`` of a GlueContext."""

    def __init__(self, glue_context: Any) -> None:
        super().__init__(
            glue_context.create_data_frame_from_options,
            glue_context.create_data_frame_from_catalog,
            glue_context.spark_session.createDataFrame,
        )


def frame_from_options(request: Read) -> DataFrame:
    """Return the stream of the connection, or its rows. Raises :class:`InvalidInput` for a type that is not supported."""
    frame = read_stream(request)
    if frame is None:
        frame = read(request)
    return frame if frame.isStreaming else without_marks(with_inferred_columns(frame))


def catalog_table(session: GlueSession, database: str, name: str | None, *, catalog_id: str | None) -> Table:
    """Return a table of the catalog.

    Raises :class:`InvalidInput` without a name, and :class:`penstock.errors.NotFound` for a table that does not exist.
    """
    if not name:
        raise InvalidInput("Parameter table_name is missing.", remedy="Give database and table_name.")
    return cast("Table", session.catalog(catalog_id).table(database, name))


def table_frame(
    session: GlueSession, database: str, table_name: str | None, *, catalog_id: str | None, **request: Any
) -> DataFrame:
    """Return the rows, or the stream, of a table of the catalog, of JSON as text. Raises as :func:`catalog_table` does."""
    table = catalog_table(session, database, table_name, catalog_id=catalog_id)
    return read_table(Read(session=session, connection_type="catalog", catalog_id=catalog_id, **request), table)


def database_of(database: str | None, name_space: str | None) -> str:
    """Return the database's name, which has two names in Glue. Raises :class:`InvalidInput` without or with both."""
    if (database is None) == (name_space is None):
        both = "both specified, choose one" if database is not None else "missing: one is needed"
        raise InvalidInput(f"Parameters database and name_space are {both}.")
    return str(database if name_space is None else name_space)


class DataSink:
    """What ``getSink`` returns: a write whose format and table of the catalog may be given later."""

    def __init__(self, request: Write) -> None:
        check_kind(request.connection_type)
        self._request = request

    def setFormat(self, format: str, **options: Any) -> None:  # noqa: N802
        """Write files of ``format`` with its options."""
        self._request = replace(self._request, format=format, format_options=options)

    def setCatalogInfo(  # noqa: N802
        self,
        catalogDatabase: str | None = None,  # noqa: N803
        catalogTableName: str | None = None,  # noqa: N803
        catalogId: str | None = None,  # noqa: N803
    ) -> None:
        """Name the table that ``enableUpdateCatalog`` creates or changes."""
        self._request = replace(
            self._request, database=catalogDatabase, table=catalogTableName, catalog_id=catalogId or None
        )

    def setAccumulableSize(self, size: int) -> None:  # noqa: N802
        """Has no effect: AWS's bound of the errors that a write collects, and no row is left out here."""

    def writeFrame(self, dynamic_frame: Any, info: str = "") -> Any:  # noqa: N802, ARG002
        """Write a DynamicFrame or a DataFrame, all its rows or none, and return it; of a collection each frame."""
        return write_frames(dynamic_frame, write, self._request)

    def write(self, dynamic_frame_or_dfc: Any, info: str = "") -> Any:
        """Write a frame as :meth:`writeFrame` does."""
        return self.writeFrame(dynamic_frame_or_dfc, info)


class FrameWriter:
    """``write_dynamic_frame`` and ``write_data_frame``: the context's methods under another spelling.

    ``owner`` is the name that an error has, ``methods`` are the functions by their names.
    """

    def __init__(self, owner: str, **methods: Callable[..., Any]) -> None:
        self._owner = owner
        vars(self).update(methods)

    def __getattr__(self, name: str) -> Any:
        raise not_supported(CONTEXT, "GlueContext", name if name.startswith("_") else f"{self._owner}_{name}")


class DynamicFrameWriter(FrameWriter):
    """``write_dynamic_frame`` of a GlueContext."""

    def __init__(self, glue_context: Any) -> None:
        super().__init__(
            "write_dynamic_frame",
            from_jdbc_conf=glue_context.write_dynamic_frame_from_jdbc_conf,
            from_options=glue_context.write_dynamic_frame_from_options,
            from_catalog=glue_context.write_dynamic_frame_from_catalog,
        )


class DataFrameWriter(FrameWriter):
    """``write_data_frame`` of a GlueContext."""

    def __init__(self, glue_context: Any) -> None:
        super().__init__(
            "write_data_frame",
            from_options=glue_context.write_from_options,
            from_catalog=glue_context.write_data_frame_from_catalog,
        )


def write_frames(frame: Any, sink: Callable[[Write, DataFrame], None], request: Write) -> Any:
    """Write Spark's frame of a DynamicFrame or a DataFrame, of a collection those of its frames; return ``frame``.

    Raises :class:`InvalidInput` for anything else.
    """
    for spark_frame in _spark_frames(frame):
        sink(request, spark_frame)
    return frame


def _spark_frames(frame: Any) -> Sequence[DataFrame]:
    if isinstance(frame, DynamicFrameCollection):
        return [spark_frame for member in frame.values() for spark_frame in _spark_frames(member)]
    if isinstance(frame, DynamicFrame):
        return [frame.toDF()]
    if isinstance(frame, DataFrame):
        return [frame]
    raise InvalidInput(
        f"A {type(frame).__name__} cannot be written.", remedy="Give a DynamicFrame, a DataFrame or a collection."
    )

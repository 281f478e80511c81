"""``write_dynamic_frame``, ``write_data_frame`` and the objects of ``getSink``: Glue's spellings of a write.

Source: https://docs.aws.amazon.com/glue/latest/dg/aws-glue-api-crawler-pyspark-extensions-dynamic-frame-writer.html
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import InvalidInput
from penstock.glue.errors import CONTEXT, not_supported
from penstock.glue.frames.dynamic_frame import DynamicFrame, DynamicFrameCollection
from penstock.glue.sinks.kinds import check_kind, write
from penstock.glue.sinks.port import Write

__all__ = ["DataFrameWriter", "DataSink", "DynamicFrameWriter", "FrameWriter", "spark_frames"]


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
        for each in spark_frames(dynamic_frame):
            write(self._request, each)
        return dynamic_frame

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


def spark_frames(frame: Any) -> Sequence[DataFrame]:
    """Return Spark's frame of a DynamicFrame or a DataFrame, of a collection those of its frames.

    Raises :class:`InvalidInput` for anything else.
    """
    if isinstance(frame, DynamicFrameCollection):
        return [each for member in frame.values() for each in spark_frames(member)]
    if isinstance(frame, DynamicFrame):
        return [frame.toDF()]
    if isinstance(frame, DataFrame):
        return [frame]
    raise InvalidInput(
        f"A {type(frame).__name__} cannot be written.", remedy="Give a DynamicFrame, a DataFrame or a collection."
    )

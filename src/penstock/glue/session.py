"""What readers and writers need of the script's run: Spark, the lake's files, the catalog, connections."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.client.catalog import CatalogClient
from penstock.client.connections import GlueConnection, glue_connection
from penstock.glue.jobs.bookmarks import Bookmarks
from penstock.spark.hadoop import HadoopFiles

__all__ = ["GlueSession", "in_session", "in_utc"]

_ZONE = "spark.sql.session.timeZone"


@dataclass(frozen=True)
class GlueSession:
    """``connection`` returns a Glue connection, with its passwords, by its name; ``catalog`` is one by its id, or ours.

    ``bookmarks`` are those of the run: a source of rows that are read once asks them for its
    :class:`~penstock.glue.jobs.bookmarks.Marks`, and proposes its next state.
    """

    spark: SparkSession
    connection: Callable[[str], GlueConnection] = field(default=glue_connection)
    catalog: Callable[[str | None], CatalogClient] = field(default=lambda catalog_id: CatalogClient(catalog_id=catalog_id))

    bookmarks: Bookmarks = field(default_factory=Bookmarks)

    @cached_property
    def files(self) -> HadoopFiles:
        """The files that Spark reaches."""
        return HadoopFiles(self.spark)


def in_session(frame: DataFrame, session: SparkSession | None) -> DataFrame:
    """Return ``frame`` as one of ``session``, whose SQL then knows the views that are made of it; None changes nothing.

    Spark runs a stream in a clone of its session, and gives the batches of the clone. AWS's DynamicFrames are of the
    context's session, whatever they are made of (awsglue/dynamicframe.py, ``fromDF`` and ``toDF``).
    """
    if session is None or frame.isStreaming or frame.sparkSession._jsparkSession.equals(session._jsparkSession):
        return frame
    jvm: Any = session._jvm
    plan = frame._jdf.queryExecution().analyzed()
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan), session)


@contextmanager
def in_utc(frame: DataFrame) -> Iterator[DataFrame]:
    """Yield ``frame`` as one of a session in UTC, in which the writers of pipelines' sinks make text of timestamps.

    The rows are computed in their own session before, whose time zone a script may set: its functions see that one.
    """
    spark: Any = frame.sparkSession
    if spark.conf.get(_ZONE) == "UTC":
        yield frame
        return
    utc = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    utc.conf.set(_ZONE, "UTC")
    persisted = frame.persist()
    try:
        yield in_session(persisted, utc)
    finally:
        persisted.unpersist()

"""What readers and writers need of the script's run: Spark, the lake's files, the catalog, connections."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import SparkSession

from penstock.client.catalog import CatalogClient
from penstock.client.connections import GlueConnection, glue_connection
from penstock.spark.glue.jobs.bookmarks import Bookmarks
from penstock.spark.hadoop import HadoopFiles

__all__ = ["GlueSession"]


@dataclass(frozen=True)
class GlueSession:
    """``connection`` returns a Glue connection, with its passwords, by its name; ``catalog`` is one by its id, or ours.

    ``bookmarks`` are those of the run: a source of rows that are read once asks them for its
    :class:`~penstock.spark.glue.jobs.bookmarks.Marks`, and proposes its next state.
    """

    spark: SparkSession
    connection: Callable[[str], GlueConnection] = field(default=glue_connection)
    catalog: Callable[[str | None], CatalogClient] = field(default=lambda catalog_id: CatalogClient(catalog_id=catalog_id))

    bookmarks: Bookmarks = field(default_factory=Bookmarks)

    @cached_property
    def files(self) -> HadoopFiles:
        """The files that Spark reaches."""
        return HadoopFiles(self.spark)

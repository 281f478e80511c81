"""The port of sinks: the rows of a batch were staged, and are published once.

The runner stages the rows of a batch as Parquet files, writes the manifest, and only then calls :meth:`SinkWriter.publish`.
After a kill it calls ``publish`` again with the same rows, also where the first call had succeeded. So a sink records the
batch with its rows, in one transaction where it has transactions: query and batch number are the batch's identity
(:attr:`SinkBatch.marker`). A sink without transactions says so (``guarantee``) and repeats what is idempotent.
"""

from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.pipelines.sinks.settings import SinkSettings

__all__ = ["Published", "SinkBatch", "SinkWriter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkBatch:
    """The rows of one batch for one sink, after its ``sql``.

    ``rows`` are read from staged files: the same rows in every attempt, and cheap to read several times. They include the
    source's metadata columns (:data:`~penstock.spark.sources.port.METADATA`) as far as the transform kept them, for the
    order of changes; ``columns`` are those to write. ``query`` is the ledger's query id (32 hexadecimal digits),
    ``number`` the batch's number in it, ``end`` the source's offsets as JSON.
    """

    pipeline: str
    sink: str
    query: str
    number: int
    end: str
    rows: DataFrame
    columns: StructType
    count: int

    @property
    def marker(self) -> str:
        """Return the application's id in a sink's own record of batches: pipeline, sink and query."""
        return f"penstock:{self.pipeline}:{self.sink}:{self.query}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a sink did: rows inserted or changed, bytes if known, its own reference (a snapshot's id, a version).

    ``replayed``: the sink had the batch already, and nothing was written.
    """

    rows: int
    size: int | None = None
    reference: str | None = None
    replayed: bool = False


class SinkWriter(Protocol):
    """One declared sink in one run. The constructor of an implementation takes its settings and what it needs of the run."""

    @property
    def settings(self) -> SinkSettings:
        """Return what was declared."""
        ...

    def check(self) -> None:
        """Reach the sink before the stream starts. Raises an error that says what is missing, and the remedy."""
        ...

    def table(self) -> StructType | None:
        """Return the columns of the sink's table; None if it does not exist yet, or the sink has no columns."""
        ...

    def publish(self, batch: SinkBatch) -> Published:
        """Write the rows once, and create the table at first. Called again after a kill, with the same rows.

        The table was made to fit ``batch.columns`` before (see :mod:`penstock.spark.tables`). Raises
        :class:`DataProblem` where the rows cannot be written at all, :class:`EnvironmentProblem` where a retry may help.
        """
        ...

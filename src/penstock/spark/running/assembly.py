"""The parts of a run, put together by hand: versions, staging, sinks, the catalog's tables, accounts, the ledger."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from penstock.client.catalog import CatalogClient, table_input
from penstock.client.secrets import secret_text
from penstock.lake.files import FileSystem
from penstock.lake.ledger import Ledger
from penstock.pipelines.model import Pipeline
from penstock.pipelines.sections import CatalogTarget
from penstock.spark.commit import accounts
from penstock.spark.commit.accounts import AccountsTable
from penstock.spark.commit.outputs import Outputs
from penstock.spark.commit.staging import Stager
from penstock.spark.commit.steps import CommitContext, Tables
from penstock.spark.dead_letter_table import PARTITION_KEYS
from penstock.spark.decode.opening import open_versions
from penstock.spark.running.options import RunOptions
from penstock.spark.sinks.kinds import SinkContext, open_sinks
from penstock.spark.sources.port import StreamSource
from penstock.spark.tables.catalog import PARQUET, CatalogTable
from penstock.spark.transform.apply import Transformer
from penstock.spark.transform.tables import CatalogTables

__all__ = ["commit_context", "ledger_of"]


def ledger_of(files: FileSystem, pipeline: Pipeline, query: str) -> Ledger:
    """Return the pipeline's ledger for a query's id; it is not open yet."""
    first, *others = pipeline.file_locations
    return Ledger(files, table=first, also=others, pipeline=pipeline.name, query=query)


def commit_context(
    pipeline: Pipeline, spark: SparkSession, options: RunOptions, *, files: FileSystem, source: StreamSource
) -> CommitContext:
    """Return what all commits of a run share. Sinks are checked, and the schema's versions are read.

    Raises the errors of sinks that cannot be written, and of a schema or reader that is not there: now, and not at the
    first record.
    """
    jvm: Any = spark._jvm
    writers = open_sinks(
        SinkContext(
            spark=spark,
            pipeline=pipeline,
            fetch_secret=options.fetch_secret,
            catalog=lambda: options.catalog or CatalogClient(),
        )
    )
    versions = open_versions(pipeline.decode, options.registry)
    versions.refresh()
    versions.plan()
    tables = CatalogTables(options.catalog or _CatalogAtFirstUse())
    transformer = Transformer(pipeline.transform, tables=tables, files=files, fetch_text=secret_text)
    return CommitContext(
        pipeline=pipeline,
        files=files,
        stager=Stager(pipeline, versions, files, transformer),
        tables=_tables(pipeline, options),
        source=source,
        outputs=Outputs(pipeline, writers),
        accounts=AccountsTable(files, pipeline, pipeline.accounts_location),
        failpoint=options.failpoint,
        jvm=int(jvm.java.lang.ProcessHandle.current().pid()),
        on_files=options.on_files,
    )


class _CatalogAtFirstUse:
    """The catalog's reads; most transforms name no table, and then no region or endpoint is needed."""

    @cached_property
    def _client(self) -> CatalogClient:
        return CatalogClient()

    def table(self, database: str, name: str) -> Any:
        """Return the table's current version. Raises :class:`NotFound`."""
        return self._client.table(database, name)

    def partitions(self, database: str, table: str) -> Iterable[Any]:
        """Return all partitions."""
        return self._client.partitions(database, table)


def _tables(pipeline: Pipeline, options: RunOptions) -> Tables:
    def table(target: CatalogTarget | None, location: str, keys: Sequence[str]) -> CatalogTable | None:
        if target is None:
            return None
        client = options.catalog or CatalogClient()
        return CatalogTable(client, target, location=location, keys=keys, files=PARQUET, table_input=table_input)

    rows = {sink.name: table(sink.catalog, sink.location, sink.partition_by) for sink in pipeline.file_sinks}
    return Tables(
        rows={name: row for name, row in rows.items() if row is not None},
        dead=table(pipeline.dead_letters.catalog, pipeline.dead_letters.location, PARTITION_KEYS),
        accounts=table(pipeline.accounts.catalog, pipeline.accounts_location, accounts.PARTITION_KEYS),
    )

"""Crawlers as values: their targets, their permitted changes, and the result of their last run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from penstock.catalog.model import Column
from penstock.crawl.access import Starter

__all__ = [
    "PARQUET",
    "CatalogTarget",
    "CrawlRecord",
    "CrawlStatus",
    "Crawler",
    "CrawlerState",
    "DeleteBehavior",
    "DeltaTarget",
    "DynamoTarget",
    "FileFormat",
    "IcebergTarget",
    "JdbcTarget",
    "LastCrawl",
    "OtherTarget",
    "RecrawlBehavior",
    "S3Target",
    "SchemaChangePolicy",
    "SeenFile",
    "Tally",
    "UpdateBehavior",
]

CrawlStatus = Literal["SUCCEEDED", "CANCELLED", "FAILED"]
CrawlerState = Literal["READY", "RUNNING", "STOPPING"]
RecrawlBehavior = Literal["CRAWL_EVERYTHING", "CRAWL_NEW_FOLDERS_ONLY"]
UpdateBehavior = Literal["UPDATE_IN_DATABASE", "LOG"]
DeleteBehavior = Literal["LOG", "DELETE_FROM_DATABASE", "DEPRECATE_IN_DATABASE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Target:
    """A folder to crawl; ``exclusions`` are Glue's glob patterns, relative to it. ``extra``: see the catalog's model."""

    path: str
    exclusions: Sequence[str] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def sample_size(self) -> int | None:
        """How many files of each folder are read; None is all."""
        size = self.extra.get("SampleSize")
        return size if isinstance(size, int) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcTarget:
    """Tables of a database. ``path`` is ``DATABASE/SCHEMA/TABLE``, where ``%`` stands for any text."""

    kind: Literal["jdbc"] = "jdbc"
    connection: str
    path: str
    exclusions: Sequence[str] = ()
    metadata: Sequence[str] = ()
    """``COMMENTS`` and ``RAWTYPES``: what is kept of each column, besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoTarget:
    """A table of DynamoDB. ``scan_all`` None and ``scan_rate`` None are what they are to Glue: all, half of the capacity."""

    kind: Literal["dynamodb"] = "dynamodb"
    table: str
    scan_all: bool | None = None
    scan_rate: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogTarget:
    """Tables of the catalog, whose folders are crawled."""

    kind: Literal["catalog"] = "catalog"
    database: str
    tables: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergTarget:
    """Folders with Iceberg tables in them, up to ``depth`` folders below."""

    kind: Literal["iceberg"] = "iceberg"
    paths: Sequence[str]
    exclusions: Sequence[str] = ()
    depth: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaTarget:
    """Folders of Delta tables."""

    kind: Literal["delta"] = "delta"
    paths: Sequence[str]


OtherTarget = JdbcTarget | DynamoTarget | CatalogTarget | IcebergTarget | DeltaTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChangePolicy:
    """The actions of a crawl if files and catalog differ; the defaults are Glue's."""

    update: UpdateBehavior = "UPDATE_IN_DATABASE"
    delete: DeleteBehavior = "DEPRECATE_IN_DATABASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The counts of a crawl. ``problems`` are sentences, the first hundred of them; ``problem_count`` counts all.

    ``changes`` are the tables that changed, the first hundred: ``ADD``, ``UPDATE`` or ``DELETE``, and the name.
    """

    tables_created: int = 0
    tables_updated: int = 0
    tables_deleted: int = 0
    partitions_added: int = 0
    partitions_deleted: int = 0
    files_found: int = 0
    files_read: int = 0
    problem_count: int = 0
    problems: Sequence[str] = ()
    changes: Sequence[tuple[str, str]] = ()

    def summary(self) -> str:
        """Return the counts in one sentence, followed by the problems."""
        counts = (
            f"{self.files_found} files, {self.files_read} read; tables: {self.tables_created} created, "
            f"{self.tables_updated} updated, {self.tables_deleted} deleted; "
            f"partitions: {self.partitions_added} added, {self.partitions_deleted} deleted."
        )
        if not self.problem_count:
            return counts
        return f"{counts} {self.problem_count} problems: {' '.join(self.problems)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCrawl:
    """The end of a crawl: SUCCEEDED, CANCELLED or FAILED. ``message`` is the reason, or the problems."""

    status: CrawlStatus
    message: str | None = None
    start_time: datetime
    end_time: datetime
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRecord:
    """A run in the history: ``run_id`` is Glue's CrawlId."""

    run_id: str
    last: LastCrawl


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawler:
    """A crawler as stored. ``run_id``, ``started``, ``owner`` and ``heartbeat`` are set while it runs.

    ``owner`` is the process that runs it (:mod:`penstock.owners`), ``heartbeat`` is its last sign of life.

    ``targets`` are folders of files, ``others`` all other targets. ``classifiers`` are names of custom classifiers, in their
    order; ``classified`` is the digest of those that its files were read with.

    ``schedule`` is a cron expression, ``next_run`` the time of its next run, None while the schedule is stopped.
    ``starter`` is who last created, changed or scheduled it: crawls by the schedule have that caller's rights.

    ``recrawl`` is Glue's RecrawlBehavior. ``history`` are the latest runs, newest first. ``runtimes`` are the seconds of the
    latest ones, oldest first; ``totals`` adds up the tables of all runs.
    """

    name: str
    role: str
    database: str | None = None
    description: str | None = None
    targets: Sequence[S3Target] = ()
    others: Sequence[OtherTarget] = ()
    classifiers: Sequence[str] = ()
    classified: str = ""
    policy: SchemaChangePolicy = field(default_factory=SchemaChangePolicy)
    table_prefix: str = ""
    recrawl: RecrawlBehavior = "CRAWL_EVERYTHING"
    configuration: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, object] = field(default_factory=dict)
    version: int = 1
    creation_time: datetime
    last_updated: datetime
    state: CrawlerState = "READY"
    run_id: str | None = None
    started: datetime | None = None
    owner: str | None = None
    heartbeat: datetime | None = None
    last_crawl: LastCrawl | None = None
    schedule: str | None = None
    next_run: datetime | None = None
    starter: Starter | None = None
    history: Sequence[CrawlRecord] = ()
    runtimes: Sequence[float] = ()
    totals: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """A file's format. ``serde`` are parameters of the table's SerDe, ``parameters`` of the table: pairs of texts."""

    classification: str
    compression: str = "none"
    serde: tuple[tuple[str, str], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


PARQUET = FileFormat(classification="parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """A file that a crawl has read, so that the next one skips it: its columns, or its problem.

    ``modified`` is in nanoseconds since 1970, ``size`` in bytes.
    """

    uri: str
    size: int
    modified: int
    rows: int = 0
    columns: Sequence[Column] = ()
    format: FileFormat = PARQUET
    problem: str | None = None

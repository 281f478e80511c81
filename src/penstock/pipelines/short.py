"""The short form of a pipeline, a topic and a table: read from YAML, and written out in full."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import InvalidInput
from penstock.settings.document import Section, load_document

__all__ = ["INGESTED", "SCHEMA_LINE", "Connection", "ShortPipeline", "full_text", "parse_short", "short_section"]

INGESTED = "ingested_hour"
"""The partition column of a table whose partitions were not declared: the hour (UTC) of the record's own Kafka timestamp.

The record's time, and not the clock's, so that a record that is read again is in the same partition.
"""

SCHEMA_LINE = "# yaml-language-server: $schema={}\n"
"""The comment by which editors find the JSON Schema of a YAML file (yaml-language-server, VS Code, IntelliJ)."""

_TABLE = re.compile(r"([a-z0-9_]{1,255})\.([a-z0-9_]{1,200})")
_WORD = re.compile(r"[A-Za-z0-9_./-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortPipeline:
    """One topic into one catalog table, ``DATABASE.TABLE``.

    ``schema`` is ``REGISTRY/SCHEMA``; None: that of the topic's frames. ``partition_by`` are columns of the rows; None: the
    hour of each record. ``location`` is the folder below which tables, dead letters, accounts and checkpoints are; None:
    the bucket ``PENSTOCK_BUCKET``.
    """

    topic: str
    table: str
    schema: str | None = None
    partition_by: tuple[str, ...] | None = None
    location: str | None = None

    def __post_init__(self) -> None:
        if not _TABLE.fullmatch(self.table):
            raise InvalidInput(
                f"'{self.table[:100]}' does not name a table.",
                remedy="Write it as DATABASE.TABLE, in lower case letters, digits and '_'.",
            )
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", self.topic):
            raise InvalidInput(
                f"'{self.topic[:100]}' does not name a topic.", remedy="Patterns and lists need the full form."
            )
        if self.schema is not None and not re.fullmatch(r"[^/\s]+/[^/\s]+", self.schema):
            raise InvalidInput(f"'{self.schema[:100]}' does not name a schema.", remedy="Write it as REGISTRY/SCHEMA.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The broker's settings in the full form: those that ``penstock env`` gives as variables are named by them."""

    brokers: str
    security_protocol: str
    secret: str | None = None
    truststore: str | None = None


def parse_short(text: str, *, origin: str, environment: Mapping[str, str]) -> ShortPipeline | None:
    """Return the short form that ``text`` is; None for a full one. Raises :class:`InvalidInput` with file and line."""
    top = load_document(text, origin=origin, environment=environment)
    if not top.has("table") or top.has("source"):
        return None
    return short_section(top)


def short_section(top: Section) -> ShortPipeline:
    """Return the short form in the mapping ``top``."""
    members = {
        "topic": top.required("topic"),
        "table": top.required("table"),
        "schema": top.text("schema"),
        "location": top.text("location"),
        "partition_by": top.texts("partition_by") if top.has("partition_by") else None,
    }
    top.done()
    try:
        return ShortPipeline(**members)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise top.fault(error.message.rstrip("."), remedy=error.remedy) from None


def full_text(short: ShortPipeline, connection: Connection, *, schema: str, json_schema: str | None = None) -> str:
    """Return the full form as commented YAML.

    ``schema`` is REGISTRY/SCHEMA of the topic's records, ``json_schema`` the place of the JSON Schema for editors.
    """
    registry, _, name = schema.partition("/")
    database, _, table = short.table.partition(".")
    root = (short.location or "s3://${PENSTOCK_BUCKET}").rstrip("/")
    columns = (INGESTED,) if short.partition_by is None else short.partition_by
    login = "".join(
        f"    {key}: {value}\n"
        for key, value in (
            ("security_protocol", connection.security_protocol),
            ("secret", connection.secret),
            ("truststore", connection.truststore),
        )
        if value is not None
    )
    return _FULL.format(
        editor="" if json_schema is None else SCHEMA_LINE.format(json_schema),
        name=short.table,
        topic=short.topic,
        brokers=connection.brokers,
        login=login,
        registry=_quoted(registry),
        schema=_quoted(name),
        ingested=_INGESTED if INGESTED in columns else _NO_TRANSFORM,
        root=root,
        database=database,
        table=table,
        columns=", ".join(map(_quoted, columns)),
    )


def _quoted(word: str) -> str:
    return (
        word if _WORD.fullmatch(word) and not word.isdigit() else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


_INGESTED = """\
transform:
  # sql: SELECT * FROM records WHERE ...  # masks, steps and expectations: docs/pipelines/transforms.md
  columns:
    # The hour (UTC) of the record's own timestamp: the same whenever the record is read.
    ingested_hour: date_format(_timestamp, 'yyyy-MM-dd-HH')
"""

_NO_TRANSFORM = """\
# transform:  # SQL, masks, steps and expectations: docs/pipelines/transforms.md
#   sql: SELECT * FROM records WHERE ...
"""

_FULL = """\
{editor}# Topic {topic} to table {database}.{table}. 'penstock run FILE --dry-run' checks it, 'penstock run FILE' runs it.
# ${{NAME}} stands for an environment variable; 'penstock env' sets those of the platform.
name: {name}  # names the ledger: keep it

source:
  kafka:
    brokers: {brokers}
    topic: {topic}
{login}    startingOffsets: earliest  # or latest; only at the first start
    # maxOffsetsPerTrigger: 200_000
    # includeHeaders: true

decode:
  registry: {registry}
  schema: {schema}
  # reader: latest  # or a version number

{ingested}
sink:
  parquet:
    location: {root}/{database}/{table}
    partition_by: [{columns}]
    catalog: {{database: {database}, table: {table}, create: true}}
    # compression: zstd

# Records that are not rows, with the reason; 'penstock dlq' shows and replays them.
dead_letters:
  location: {root}/{database}/{table}_dead
  catalog: {{database: {database}, table: {table}_dead, create: true}}

# A row for each batch: offsets, counts, bytes, times.
accounts:
  location: {root}/{database}/{table}_accounts
  catalog: {{database: {database}, table: {table}_accounts, create: true}}

checkpoint: {root}/_checkpoints/{database}/{table}

trigger: {{processingTime: 10 seconds}}  # or availableNow: true
batchMaxRetries: 3
"""

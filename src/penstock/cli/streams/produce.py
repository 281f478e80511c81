"""``penstock produce``: writes records of a file, or random ones, to a topic, serialized with a registered schema."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from penstock.cli.options import FILE
from penstock.cli.streams.broker import broker_settings
from penstock.cli.streams.broker_options import broker_options
from penstock.client.registry import RegistryClient
from penstock.client.versions import LATEST, find_version
from penstock.errors import InvalidInput, PenstockError
from penstock.produce.derive import file_shape
from penstock.produce.generate import generate
from penstock.produce.producer import Producer, Report
from penstock.produce.records import RecordFile, format_of
from penstock.produce.run import send_all
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.version import SchemaVersion
from penstock.serdes.avro.codec import AvroSchema
from penstock.serdes.avro.derived import DerivedSchemas
from penstock.serdes.errors import UnreadableSchema
from penstock.serdes.frame import Compression

__all__ = ["command"]

_DEFAULT_RECORDS = 10
_LINE_SECONDS = 5.0


@click.command("produce")
@broker_options(required=True)
@click.option("-region", "--region", help="AWS region; default as for any AWS client.")
@click.option("-registryName", "--registry-name", default="test-schema-registry", show_default=True)
@click.option("-schema", "--schema", "schema_name", default="test_payload_schema", show_default=True)
@click.option("-topic", "--topic", default="test", show_default=True)
@click.option(
    "-numRecords",
    "--num-records",
    type=click.IntRange(min=0),
    help=f"Number of records; default {_DEFAULT_RECORDS}, or all of --file.",
)
@click.option("--schema-version", help="Version number or version id; default the latest AVAILABLE one.")
@click.option(
    "--file",
    "path",
    type=FILE,
    help="File of records: CSV, JSON lines or Parquet, also as .gz or .zip.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["csv", "jsonl", "parquet"]),
    help="Format, if the file's name does not show it.",
)
@click.option("--null-text", multiple=True, help="A CSV cell that means null, such as NA; repeatable.")
@click.option(
    "--derive-schema",
    is_flag=True,
    help="Register the schema that the records of --file need: a new one, or the latest version with their new fields.",
)
@click.option(
    "--compatibility",
    type=click.Choice(list(CompatibilityMode)),
    default="FULL",
    show_default=True,
    help="Compatibility mode of a schema that --derive-schema creates.",
)
@click.option("--seed", type=int, help="Seed that makes random records repeatable.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Maximum of records per second.")
@click.option("--compression", type=click.Choice(["none", "zlib"]), default="none", show_default=True)
@click.option("--key-field", help="Field whose text becomes the message's key.")
@click.option(
    "--endpoint-url", envvar="PENSTOCK_ENDPOINT_URL", help="URL of the server to use instead of AWS (or AWS_ENDPOINT_URL)."
)
@click.option("--progress/--no-progress", default=True, help="Show progress on stderr.")
def command(**options: Any) -> None:
    """Write records to a topic, serialized with a registered schema.

    Accepts the arguments of AWS's sample producer under their names, and long ones. Exits with 0 if the broker
    acknowledged every record, with 4 if not.
    """
    version = _version(options)
    schema = AvroSchema(_avro_definition(version))
    records, count = _records(options, schema)
    broker = broker_settings(options)
    producer = Producer(broker, options["topic"], version, compression=Compression[options["compression"].upper()])
    try:
        with _progress(count, shown=options["progress"]) as on_progress:
            report = send_all(
                producer,
                records,
                limit=count,
                key_field=options["key_field"],
                rate=options["rate"],
                on_progress=on_progress,
            )
    except (PenstockError, KeyboardInterrupt):
        if (progress := producer.progress).produced:
            click.echo(f"Stopped after {progress.produced} records, {progress.acknowledged} of them acknowledged.", err=True)
        raise
    _conclude(report, options["topic"], version)


def _version(options: dict[str, Any]) -> SchemaVersion:
    registry, schema, version = options["registry_name"], options["schema_name"], options["schema_version"]
    client = RegistryClient(region=options["region"], endpoint_url=options["endpoint_url"])
    if options["derive_schema"]:
        return _derived(client, registry, schema, options)
    return find_version(client, registry, schema, LATEST if version is None else version)


def _derived(client: RegistryClient, registry: str, schema: str, options: dict[str, Any]) -> SchemaVersion:
    if options["path"] is None or options["schema_version"] is not None:
        raise InvalidInput(
            "--derive-schema reads the records of --file, and needs the version that has all their fields.",
            remedy="Give --file, without --schema-version.",
        )
    shape = file_shape(_file(options), options["num_records"])
    derived = DerivedSchemas(client, compatibility=options["compatibility"])
    # The file's reader converts values to the registered types.
    version = derived.cover_shape(shape, registry, schema, converted=True)
    click.echo(f"Writing with {registry}/{schema} version {version.number}, which has the fields of the data.", err=True)
    return version


def _avro_definition(version: SchemaVersion) -> str:
    if version.data_format != "AVRO":
        raise UnreadableSchema(
            f"Schema {version.registry_name}/{version.schema_name} is {version.data_format}; only AVRO is served."
        )
    return version.definition


def _records(options: dict[str, Any], schema: AvroSchema) -> tuple[Iterator[Any], int | None]:
    count: int | None = options["num_records"]
    path: Path | None = options["path"]
    if path is None:
        return generate(schema, seed=options["seed"]), _DEFAULT_RECORDS if count is None else count
    return _file(options).records(schema), count


def _file(options: dict[str, Any]) -> RecordFile:
    path: Path = options["path"]
    return RecordFile(path=path, format=options["file_format"] or format_of(path), null_text=frozenset(options["null_text"]))


@contextmanager
def _progress(total: int | None, *, shown: bool) -> "Iterator[Any]":
    console = Console(stderr=True)
    if not shown:
        yield None
    elif console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task("acknowledged", total=total)
            yield lambda report: bar.update(task, completed=report.acknowledged)
    else:
        yield _Lines(total)


class _Lines:
    """Progress without a terminal: a plain line every few seconds."""

    def __init__(self, total: int | None) -> None:
        self._of = f" of {total}" if total is not None else ""
        self._next = time.monotonic() + _LINE_SECONDS

    def __call__(self, report: Report) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_SECONDS
            click.echo(f"{report.acknowledged}{self._of} records acknowledged, {report.rate:,.0f} a second", err=True)


def _conclude(report: Report, topic: str, version: SchemaVersion) -> None:
    click.echo(
        f"Produced {report.produced} records to {topic} with {version.schema_name} version {version.number}: "
        f"{report.acknowledged} acknowledged, {report.produced - report.acknowledged} not, "
        f"in {report.seconds:.1f} s ({report.rate:,.0f} a second)."
    )
    if report.complete:
        return
    causes = "; ".join(dict.fromkeys(report.errors)) or "no answer within the timeout"
    click.echo(f"penstock: {report.produced - report.acknowledged} records were not acknowledged: {causes}.", err=True)
    sys.exit(4)

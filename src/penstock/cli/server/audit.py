"""``penstock audit``: shows, verifies and exports the audit log of the server's decisions."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from penstock import durable
from penstock.access.audit.event import OUTCOMES
from penstock.access.audit.reading import Wanted, broken_chains, matching, unexported
from penstock.cli.options import FILE, home_option
from penstock.cli.streams.broker_options import broker_options
from penstock.errors import DataProblem, EnvironmentProblem, InvalidInput
from penstock.settings.home import Home

__all__ = ["command"]

_BATCH = 1_000
_REGION = {"region": None, "endpoint_url": None}


@click.group("audit")
def command() -> None:
    """Show, verify and export the audit log: every decision of every service."""


@command.command("list")
@home_option
@click.option("--event", "event_name", default="", metavar="NAME", help="Only operations of this name.")
@click.option(
    "--service",
    "source",
    default="",
    metavar="NAME",
    help="Only this service: glue, athena, iam, sts, secretsmanager, confluent, ...",
)
@click.option("--principal", default="", metavar="TEXT", help="Only callers whose ARN or access key id contains this.")
@click.option("--resource", default="", metavar="TEXT", help="Only resources whose ARN contains this.")
@click.option("--decision", type=click.Choice(OUTCOMES), default=None, help="Only decisions of this kind.")
@click.option("--since", default="", metavar="TIME", help="Only from this time on, such as 2026-11-22T06:00:00Z.")
@click.option("--count", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print CloudTrail records, one a line.")
def list_command(*, home: Path | None, count: int, as_json: bool, decision: str | None, **filters: str) -> None:
    """Show decisions, newest first."""
    events = matching(_folder(home), Wanted(decision=decision or "", **filters), count)
    for record in events:
        click.echo(orjson.dumps(record) if as_json else _line(record))


@command.command("verify")
@home_option
def verify_command(*, home: Path | None) -> None:
    """Check that no record was changed or removed. Exits with 4 if one was."""
    broken = broken_chains(_folder(home))
    if broken:
        raise DataProblem(f"The audit log was changed at {', '.join(broken[:10])}.", remedy="Compare it with an export.")
    click.echo("Every record follows on the one before it.")


@command.command("export")
@home_option
@click.option("--to", "file", type=FILE, help="The file to append to.")
@click.option("--to-topic", "topic", metavar="TOPIC", help="The Kafka topic to write to.")
@broker_options(required=False)
def export_command(*, home: Path | None, file: Path | None, topic: str | None, **options: Any) -> None:
    """Export the records that the target does not have yet: CloudTrail's, one a line or a message.

    Run it from a timer to export new ones. After a crash the target may have records twice, with the same eventID.
    """
    if (file is None) == (topic is None):
        raise InvalidInput("An export needs one target: a file or a topic.", remedy="Give one of --to and --to-topic.")
    folder = _folder(home)
    if file is not None:
        count = _export(folder, f"file {file.absolute()}", lambda lines: _append(file, lines))
    else:
        assert topic is not None
        count = _to_topic(folder, topic, options)
    click.echo(f"{count} records exported.")


def _to_topic(folder: Path, topic: str, options: dict[str, Any]) -> int:
    if not options["brokers"]:
        raise InvalidInput("An export to a topic needs a broker.", remedy="Give --brokers, or set PENSTOCK_BROKERS.")
    # Kafka's client comes with an extra.
    from confluent_kafka import KafkaError, KafkaException, Producer  # noqa: PLC0415

    from penstock.cli.streams.broker import broker_settings  # noqa: PLC0415
    from penstock.client.broker import broker_problem  # noqa: PLC0415

    settings = broker_settings(options | _REGION)
    producer = Producer(
        settings.client_config() | {"enable.idempotence": True, "delivery.timeout.ms": int(settings.timeout_seconds * 1_000)}
    )

    def send(lines: list[bytes]) -> None:
        failed: list[KafkaError] = []

        def delivered(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failed.append(error)

        try:
            for line in lines:
                producer.produce(topic, line, key=orjson.loads(line)["eventID"], on_delivery=delivered)
                producer.poll(0)
            producer.flush()
        except KafkaException as error:
            failed.append(error.args[0])
        if failed:
            raise broker_problem(failed[0], options["brokers"], topic)

    return _export(folder, f"topic {topic} of {options['brokers']}", send)


def _export(folder: Path, target: str, send: Callable[[list[bytes]], None]) -> int:
    """Send the records that ``target`` does not have yet, and store the position in the log's folder."""
    place = folder / "exported.json"
    progress: dict[str, dict[str, int]] = orjson.loads(place.read_bytes()) if place.exists() else {}
    position = progress.setdefault(target, {})
    total = 0
    for batch in _batches(unexported(folder, position)):
        send([line for line, _, _ in batch])
        position.update({name: end for _, name, end in batch})
        total += len(batch)
        with durable.writing(place) as output:
            output.write(orjson.dumps(progress))
    return total


def _batches(lines: Iterator[tuple[bytes, str, int]]) -> Iterator[list[tuple[bytes, str, int]]]:
    batch: list[tuple[bytes, str, int]] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _append(file: Path, lines: list[bytes]) -> None:
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as output:
            output.write(b"".join(line + b"\n" for line in lines))
            output.flush()
            durable.sync_file(output.fileno())
        # The folder too, for a new file's name: exported records are not exported again.
        durable.sync(file.absolute().parent)
    except OSError as error:
        raise EnvironmentProblem(f"{file} cannot be written: {error.strerror}.", remedy="Choose another one.") from error


def _folder(home: Path | None) -> Path:
    place = Home.at(home, os.environ)
    if not place.audit.is_dir():
        raise EnvironmentProblem(f"There is no audit log in {place.audit}.", remedy="Name the server's home with --home.")
    return place.audit


def _line(record: Any) -> str:
    identity = record["userIdentity"]
    who = identity.get("arn") or identity.get("accessKeyId") or "nobody"
    what = " ".join(resource["ARN"] for resource in record["resources"])
    code = f" ({record['errorCode']})" if "errorCode" in record else ""
    source = record["eventSource"].partition(".")[0]
    decision = record["additionalEventData"]["decision"]
    text = f"{record['eventTime']}  {decision}{code}  {source}:{record['eventName']}  {what}  by {who}"
    # Text from a client may contain control characters.
    return "".join(name if name.isprintable() else "?" for name in f"{text} from {record['sourceIPAddress']}")

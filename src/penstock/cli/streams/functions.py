"""``penstock functions``: runs handlers with Lambda's signature on this machine, by their event source mappings."""

import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import IO, Any

import click

from penstock.cli.options import FILE, FOLDER, home_option
from penstock.cli.signals import stop_on_signals
from penstock.client.connection import open_client, translated_errors
from penstock.errors import DataProblem, InvalidInput, PenstockError
from penstock.functions.delivery.batching import MAX_PAYLOAD
from penstock.functions.document import Declaration, read_function
from penstock.functions.environment import ExecutionEnvironment
from penstock.functions.model import EventSourceMapping, Function, KafkaSource
from penstock.functions.rotation import Rotated, pending_rotations, rotate
from penstock.functions.runner import RunOptions, run
from penstock.settings.home import Home

__all__ = ["command"]

_log_option = click.option("--log", type=FILE, help="File for the function's output. [default: standard error]")
_file = click.argument("file", metavar="FUNCTION.yaml", type=FILE)


@click.group("functions")
def command() -> None:
    """Run functions with AWS Lambda's signature on Kafka and Kinesis, like Lambda's event source mappings."""


@command.command("run")
@_file
@click.option("--once", is_flag=True, help="Process the records that the sources have now, then exit.")
@click.option("--metrics", type=FILE, help="File for the counts, as JSON lines.")
@click.option(
    "--state",
    type=FOLDER,
    help="Folder of streams' checkpoints. [default: functions/ of the platform's home]",
)
@_log_option
@home_option
def run_command(
    file: Path, *, once: bool, metrics: Path | None, state: Path | None, log: Path | None, home: Path | None
) -> None:
    """Poll the sources that FUNCTION.yaml declares and call its handler. SIGTERM and SIGINT stop it cleanly."""
    declaration = read_function(file)
    where = Home.at(home, os.environ)
    stop = stop_on_signals("the current invocations", at_once=True)
    function = declaration.function
    click.echo(f"Function {function.name} ({function.handler}) runs: {', '.join(_titles(declaration)) or 'no source'}.")
    with _opened(log) as stream:
        counts = run(
            declaration,
            RunOptions(
                log=stream, state=state or where.root / "functions", report=_report, metrics=metrics, once=once, stop=stop
            ),
        )
    for title, count in counts:
        click.echo(
            f"{title}: {count['PolledEventCount']:,} read, {count['DeliveredEventCount']:,} delivered, "
            f"{count['FilteredOutEventCount']:,} filtered out, {count['DroppedEventCount']:,} discarded "
            f"({count['OnFailureDestinationDeliveredEventCount']:,} to the destination), "
            f"{count['ReleasedEventCount']:,} given back; {count['Invocations']:,} calls, {count['Errors']:,} failed."
        )


@command.command("invoke")
@_file
@click.option(
    "--event", "event_file", type=click.File("rb"), help="File with the event, - for standard input. [default: {}]"
)
@click.option("--payload", help="The event as JSON text.")
@_log_option
def invoke_command(file: Path, *, event_file: IO[bytes] | None, payload: str | None, log: Path | None) -> None:
    """Call the handler once and print its result. Exits with 4 if the function fails."""
    if event_file is not None and payload is not None:
        raise InvalidInput("--event and --payload exclude each other.", remedy="Give one of them.")
    text = event_file.read() if event_file is not None else (payload or "{}").encode()
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The event is not JSON: {error}.") from None
    if len(text) > MAX_PAYLOAD:
        raise InvalidInput(
            f"The event has {len(text):,} bytes; Lambda accepts {MAX_PAYLOAD:,}.", remedy="Give a smaller one."
        )
    declaration = read_function(file)
    with _opened(log) as stream, closing(ExecutionEnvironment(declaration.function, stream)) as environment:
        result = environment.run(text)
    click.echo(_shown(result.error if result.error is not None else result.answer))
    if result.error is not None:
        raise DataProblem(
            f"Function {declaration.function.name} failed: {result.error.get('errorType')}: "
            f"{str(result.error.get('errorMessage', ''))[:300]}",
            remedy="See its log above.",
        )


@command.command("rotate")
@_file
@click.option("--once", is_flag=True, help="Do the rotations that are pending now, then exit; with 4 if one failed.")
@click.option("--every", type=click.FloatRange(1, 3600), default=10.0, show_default=True, help="Seconds between two checks.")
@_log_option
def rotate_command(file: Path, *, once: bool, every: float, log: Path | None) -> None:
    """Rotate the secrets whose RotateSecret named this function. SIGTERM and SIGINT stop it."""
    declaration = read_function(file)
    function = declaration.function
    stop = stop_on_signals("the current step", at_once=True)
    failed: list[Rotated] = []
    with _opened(log) as stream, closing(ExecutionEnvironment(function, stream)) as environment:
        while not stop.is_set():
            try:
                failed = _rotate_pending(environment, function, stop.is_set)
            except PenstockError as error:
                if once:
                    raise
                # A server that does not answer may come back.
                click.echo(f"penstock: {error}", err=True)
            if once or stop.wait(every):
                break
    if once and failed:
        raise DataProblem(
            f"{len(failed)} rotation(s) failed, the first of {failed[0].secret} at {failed[0].failed}: {failed[0].problem}",
            remedy="See the function's log; the next run tries the rotation again.",
        )


def _rotate_pending(environment: ExecutionEnvironment, function: Function, stop: Callable[[], bool]) -> list[Rotated]:
    """Rotate, and return the rotations that failed."""
    failed = []
    client = open_client("secretsmanager")
    with translated_errors(client, "the secrets to rotate"):
        waiting = list(pending_rotations(client, function))
    for secret, version in waiting:
        rotated = rotate(environment, secret, version, stop)
        if rotated is None:
            break
        if rotated.failed is not None:
            failed.append(rotated)
            click.echo(f"{secret} is not rotated: {rotated.failed} failed: {rotated.problem}", err=True)
        else:
            click.echo(f"{secret} is rotated: version {version}.")
    return failed


@command.command("check")
@_file
def check_command(file: Path) -> None:
    """Check the declaration in FUNCTION.yaml, without starting anything or connecting to anything."""
    declaration = read_function(file)
    function = declaration.function
    click.echo(f"Function {function.name} ({declaration.origin}) is declared correctly.")
    click.echo(f"  handler  {function.handler} in {function.code}, {function.memory} MB, {function.timeout} s")
    for mapping in declaration.mappings:
        click.echo(f"  source   {_described(mapping)}")


def _shown(value: Any) -> str:
    """Return human-readable JSON; in ASCII if it has lone surrogates, which UTF-8 cannot encode."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=2)
    return text


def _titles(declaration: Declaration) -> list[str]:
    return [mapping.source.title for mapping in declaration.mappings if mapping.enabled]


def _described(mapping: EventSourceMapping) -> str:
    policy, source = mapping.policy, mapping.source
    retries = "without limit" if policy.retries < 0 else f"{policy.retries:,} times"
    workers = (
        f"{source.pollers[0]} to {source.pollers[1]} pollers"
        if isinstance(source, KafkaSource)
        else f"{source.parallelization_factor} batches a shard at a time"
    )
    parts = [
        f"{source.title} from {mapping.start}",
        f"up to {mapping.batch_size:,} records or {mapping.window:g} s a batch",
        workers,
        f"retried {retries}{', split on error' if policy.bisect else ''}",
        f"failed records to {mapping.destination or 'nowhere'}",
    ]
    return "; ".join([*parts, *([] if mapping.enabled else ["switched off"])])


def _opened(log: Path | None) -> AbstractContextManager[IO[bytes]]:
    """Return the function's log: a file, or this process's standard error, which stays open."""
    if log is None:
        return nullcontext(sys.stderr.buffer)
    log.parent.mkdir(parents=True, exist_ok=True)
    return log.open("ab")


def _report(line: str) -> None:
    click.echo(f"penstock: {line}", err=True)

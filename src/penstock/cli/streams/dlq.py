"""``penstock dlq``: lists, shows and replays dead letters."""

import base64
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import orjson

from penstock.cli.options import FILE
from penstock.cli.streams.checkpoint_lock import checkpoint_lock
from penstock.cli.streams.spark_options import lake_option, session_options
from penstock.errors import InvalidInput
from penstock.pipelines import Pipeline, read_pipeline
from penstock.settings.home import Home
from penstock.spark.dead_letter_table import LetterTable

__all__ = ["command"]

_PREVIEW = 48  # bytes of a value in the listing

_file = click.argument("pipeline_file", metavar="[PIPELINE.yaml]", required=False, type=FILE)
_from = click.option("--from", "location", metavar="LOCATION", help="Another dead-letter table. [default: the pipeline's]")
_reasons = click.option("--reason", "reasons", multiple=True, metavar="REASON", help="Only this reason; repeatable.")
_dates = click.option("--date", "dates", multiple=True, metavar="YYYY-MM-DD", help="Only records of this day; repeatable.")
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")


@click.group("dlq")
def command() -> None:
    """List, show and replay dead letters: records that a pipeline could not write."""


@command.command("list")
@_file
@_from
@lake_option
@_json
def list_command(*, pipeline_file: Path | None, location: str | None, lake: Path | None, as_json: bool) -> None:
    """Count the dead letters of PIPELINE.yaml, or below --from, by day, reason and attempt."""
    for group in LetterTable(_location(pipeline_file, location), lake).groups():
        if as_json:
            values = {name: getattr(group, name) for name in group.__slots__}
            click.echo(orjson.dumps(values))
        else:
            tried = f", replayed {group.attempt} times" if group.attempt else ""
            click.echo(f"{group.date}  {group.reason:<18} {group.letters:>10,}  {group.pipeline}{tried}")


@command.command("show")
@_file
@_from
@_reasons
@_dates
@click.option("--count", type=click.IntRange(1, 100_000), default=20, show_default=True)
@lake_option
@_json
def show_command(
    *,
    pipeline_file: Path | None,
    location: str | None,
    reasons: Sequence[str],
    dates: Sequence[str],
    count: int,
    lake: Path | None,
    as_json: bool,
) -> None:
    """Show dead letters: where each was, why it is one, and its first bytes. With --json, keys and values are base64."""
    table = LetterTable(_location(pipeline_file, location), lake)
    for letter in table.letters(reasons=_known(reasons), dates=dates, count=count):
        click.echo(orjson.dumps(letter, default=_encoded) if as_json else _line(letter))


@command.command("replay")
@_file
@_from
@_reasons
@_dates
@click.option("--limit", type=click.IntRange(1, 100_000_000), default=1_000_000, show_default=True, help="At most so many.")
@click.option("--dry-run", is_flag=True, help="Only count what would be replayed, replayed letters among it.")
@session_options
def replay_command(
    *,
    pipeline_file: Path | None,
    location: str | None,
    reasons: Sequence[str],
    dates: Sequence[str],
    limit: int,
    dry_run: bool,
    home: Path | None,
    **session: Any,
) -> None:
    """Put dead letters through PIPELINE.yaml once more, after a fix: each letter once, whatever happens meanwhile.

    Letters that fail again become new ones, and a later replay takes them. --from takes those of another table.
    """
    if pipeline_file is None:
        raise InvalidInput("A replay needs a pipeline.", remedy="Name its file: penstock dlq replay PIPELINE.yaml.")
    pipeline, reasons = read_pipeline(pipeline_file), _known(reasons)
    source = location or pipeline.dead_letters.location
    if dry_run:
        table = LetterTable(source, session["lake"])
        letters = sum(1 for _ in table.letters(reasons=reasons, dates=dates, count=limit))
        click.echo(f"{letters:,} dead letters in {source}.")
        return
    where = Home.at(home, os.environ)
    _replay(pipeline, source, where, {"reasons": reasons, "dates": dates, "limit": limit}, session)


def _replay(pipeline: Pipeline, source: str, where: Home, chosen: Mapping[str, Any], session: dict[str, Any]) -> None:
    # Only a replay needs Spark, which takes a second to import.
    from penstock.cli.streams.spark_runs import run_options  # noqa: PLC0415
    from penstock.spark.problems import to_penstock_error  # noqa: PLC0415
    from penstock.spark.running.replay import LetterSelection, replay  # noqa: PLC0415
    from penstock.spark.running.runner import session_settings  # noqa: PLC0415
    from penstock.spark.session import open_session  # noqa: PLC0415

    options = run_options([pipeline], name=f"{pipeline.name}-replay", where=where, **session)
    selection = LetterSelection(location=source, **chosen)
    with checkpoint_lock(f"{pipeline.checkpoint}.replay", f"a replay of pipeline {pipeline.name}", where.run):
        spark = open_session(
            session_settings(options), name=f"{pipeline.name}.replay", locations=[*pipeline.locations.values(), source]
        )
        try:
            report = replay(pipeline, spark, options, selection)
        except Exception as error:
            raise to_penstock_error(error, pipeline, log=str(options.log)) from error
        finally:
            spark.stop()
    if report.completed:
        click.echo(f"{report.completed} batches of a replay that was killed were completed.")
    click.echo(
        f"Replayed {report.selected:,} dead letters of {source}: {report.rows:,} rows, {report.dead:,} dead letters again."
    )


def _location(pipeline_file: Path | None, location: str | None) -> str:
    if location is not None:
        return location
    if pipeline_file is None:
        raise InvalidInput("There is no table to read.", remedy="Name a pipeline's file, or a location with --from.")
    return read_pipeline(pipeline_file).dead_letters.location


def _known(reasons: Sequence[str]) -> tuple[str, ...]:
    return tuple(reason.strip().upper() for reason in reasons)


def _encoded(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError


def _line(letter: Mapping[str, Any]) -> str:
    moment: datetime | None = letter["kafka_timestamp"]
    place = letter["sequence"] if letter["offset"] is None else letter["offset"]
    value = letter["value"]
    shown = "null" if value is None else value[:_PREVIEW].hex() + ("…" if len(value) > _PREVIEW else "")
    size = "" if value is None else f" ({len(value):,} bytes)"
    when = "" if moment is None else moment.isoformat(timespec="milliseconds")
    version = f" version {letter['schema_version_id']}" if letter["schema_version_id"] else ""
    return (
        f"{letter['topic']}/{letter['partition']}/{place}  {when}  {letter['reason']}{version}\n"
        f"    {letter['message']}\n    {shown}{size}"
    )

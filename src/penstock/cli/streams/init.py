"""``penstock init``: writes the full YAML of a pipeline from a topic and a table, with comments."""

import os
from pathlib import Path

import click

from penstock.cli.streams.topic_schema import full_form
from penstock.errors import InvalidInput
from penstock.pipelines import parse_pipeline
from penstock.pipelines.editor_schema import FILE, shipped
from penstock.pipelines.short import ShortPipeline

__all__ = ["command", "short_options"]


def short_options(*, required: bool) -> list[click.Option]:
    """Return the options of the short form of a pipeline."""
    return [
        click.Option(["--topic"], required=required, help="Topic, on the broker that the environment names."),
        click.Option(
            ["--table"], required=required, metavar="DATABASE.TABLE", help="Table of the catalog, made if missing."
        ),
        click.Option(["--schema"], metavar="REGISTRY/SCHEMA", help="Schema of the records. [default: that of their frames]"),
        click.Option(
            ["--partition-by"], metavar="COLUMN[,…]", help="Partition columns; '' for none. [default: each record's hour]"
        ),
        click.Option(
            ["--location"], metavar="URI", help="Folder below which everything is. [default: s3:// and PENSTOCK_BUCKET]"
        ),
    ]


def short_form(
    topic: str | None, table: str | None, schema: str | None, partition_by: str | None, location: str | None
) -> ShortPipeline | None:
    """Return the short form that the options declare; None without any. Raises :class:`InvalidInput`."""
    if topic is None and table is None:
        options = [name for name, value in (("--schema", schema), ("--partition-by", partition_by)) if value is not None]
        if options or location is not None:
            raise InvalidInput(f"{(options or ['--location'])[0]} goes with --topic and --table.")
        return None
    if topic is None or table is None:
        raise InvalidInput("--topic and --table go together.", remedy="Give both, or the file of a pipeline.")
    columns = None if partition_by is None else tuple(part.strip() for part in partition_by.split(",") if part.strip())
    return ShortPipeline(topic=topic, table=table, schema=schema, partition_by=columns, location=location)


@click.command("init")
@click.argument("file", required=False, metavar="[FILE.yaml]", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def command(  # noqa: PLR0917 - click passes them by name
    file: Path | None,
    force: bool,
    topic: str,
    table: str,
    schema: str | None,
    partition_by: str | None,
    location: str | None,
) -> None:
    """Write the pipeline from a topic to a table as YAML with comments, to FILE.yaml or TABLE.yaml.

    Beside it is the JSON Schema by which editors check it.
    """
    short = short_form(topic, table, schema, partition_by, location)
    assert short is not None
    path = file or Path(f"{short.table}.yaml")
    if path.exists() and not force:
        raise InvalidInput(f"{path} exists.", remedy="Name another file, or replace it with --force.")
    text = full_form(short, os.environ, waits=None, json_schema=f"./{FILE}")
    parse_pipeline(text, origin=str(path), environment=os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    (path.parent / FILE).write_text(shipped(), encoding="utf-8")
    click.echo(f"Wrote {path}, and {path.parent / FILE} for editors. Run it with: penstock run {path}")


command.params.extend(short_options(required=True))

"""``penstock registry``: the registry's contents moved in and out."""

import json
from dataclasses import asdict

import click
from rich.console import Console

from penstock.client.confluent import ConfluentClient
from penstock.client.confluent_import import ConfluentImport, ImportReport
from penstock.errors import DataProblem, InvalidInput

__all__ = ["command"]

_SHOWN = 20


@click.group("registry", short_help="Move the registry's contents in and out.")
def command() -> None:
    """Move the registry's contents in and out."""


@command.command("import")
@click.option("--from-confluent", "source", required=True, metavar="URL", help="The registry to copy.")
@click.option(
    "--from-user-info", envvar="PENSTOCK_FROM_USER_INFO", metavar="USER:PASSWORD", help="Its login, if it has one."
)
@click.option("--to", "target", envvar="SCHEMA_REGISTRY_URL", metavar="URL", help="Where to. [SCHEMA_REGISTRY_URL]")
@click.option(
    "--to-user-info",
    envvar="SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO",
    metavar="ID:SECRET",
    help="An access key. [SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO]",
)
@click.option("--context", metavar="NAME", help="Put subjects without a context into this one.")
@click.option("--prefix", default="", metavar="TEXT", help="Copy only subjects that begin so, with what they refer to.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def import_command(
    *,
    source: str,
    from_user_info: str | None,
    target: str | None,
    to_user_info: str | None,
    context: str | None,
    prefix: str,
    as_json: bool,
) -> None:
    """Copy a live registry of Confluent's interface, ids and version numbers kept.

    Stopped, it goes on where it is started again. At the end every version is compared; differences end with status 4.
    """
    if not target:
        raise InvalidInput("The target is missing.", remedy='Give --to, or run: eval "$(penstock env)"')
    console = Console(stderr=True)
    with console.status("Reading the source's subjects") as status:
        report = ConfluentImport(
            ConfluentClient(source, user_info=from_user_info),
            ConfluentClient(target, user_info=to_user_info),
            prefix=prefix,
            context=None if context is None else context.strip(".:"),
            progress=lambda subject, done, total: status.update(f"{done} of {total} subjects: {subject}"),
        ).run()
    click.echo(json.dumps(asdict(report), indent=2) if as_json else _told(report))
    if report.differences:
        shown = "\n".join(f"- {difference}" for difference in report.differences[:_SHOWN])
        more = f"\n- and {len(report.differences) - _SHOWN} more" if len(report.differences) > _SHOWN else ""
        raise DataProblem(
            f"{len(report.differences)} versions differ between the source and the target:\n{shown}{more}\n",
            remedy="Import into an empty context with --context, or delete what is in the way, and run it again.",
        )


def _told(report: ImportReport) -> str:
    return (
        f"{report.versions} versions of {report.subjects} subjects: {report.copied} copied, the others were there; "
        f"{report.deleted} softly deleted as in the source, {report.levels} compatibility levels set."
    )

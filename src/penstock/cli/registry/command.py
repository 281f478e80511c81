"""``penstock registry``: exports and imports the registry's contents, and shows its changes."""

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from penstock.cli.options import PATH
from penstock.cli.registry.differences import raise_differences
from penstock.cli.server.stores import store_options
from penstock.client.confluent import ConfluentClient
from penstock.client.confluent_import import ConfluentImport, ImportReport
from penstock.errors import InvalidInput

__all__ = ["command"]


@click.group("registry", short_help="Move the registry's contents in and out; show who changed it.")
def command() -> None:
    """Export and import the registry's contents; show who changed it."""


@command.command("export")
@click.argument("file", type=PATH)
@click.option("--registry", metavar="NAME", help="Export only this registry.")
@click.option("--from-glue", is_flag=True, help="Export the live Glue registry that AWS's variables and profiles name.")
@store_options
def export_command(file: Path, registry: str | None, from_glue: bool, home: Path | None, store_url: str | None) -> None:
    """Write registries, schemas and versions with their ids into FILE (- is standard output), one JSON record a line."""
    # The store needs the server's packages; copying a live registry does not.
    from penstock.cli.registry.files import export_glue, export_store  # noqa: PLC0415

    if from_glue:
        export_glue(file, registry)
    else:
        export_store(file, registry, home, store_url)


@command.command("audit")
@click.option("--resource", metavar="RESOURCE", help="Only changes of registry/NAME, schema/REGISTRY/NAME or version/ID.")
@click.option("--count", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@store_options
def audit_command(*, resource: str | None, count: int, as_json: bool, home: Path | None, store_url: str | None) -> None:
    """Show who changed what, when and from where, newest first."""
    from penstock.cli.registry.files import show_audit  # noqa: PLC0415

    show_audit(home, store_url, resource=resource, count=count, as_json=as_json)


@command.command("import")
@click.argument("file", type=PATH, required=False)
@click.option("--from-glue", is_flag=True, help="Copy the live Glue registry that AWS's variables and profiles name.")
@click.option("--registry", metavar="NAME", help="Copy only this one of Glue's registries.")
@click.option("--from-confluent", "source", metavar="URL", help="Copy the live registry with Confluent's API at this URL.")
@click.option("--from-user-info", envvar="PENSTOCK_FROM_USER_INFO", metavar="USER:PASSWORD", help="Login of that registry.")
@click.option("--to", "target", envvar="SCHEMA_REGISTRY_URL", metavar="URL", help="URL of the target. [SCHEMA_REGISTRY_URL]")
@click.option(
    "--to-user-info",
    envvar="SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO",
    metavar="ID:SECRET",
    help="Access key for the target. [SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO]",
)
@click.option("--context", metavar="NAME", help="Target context of subjects without a context.")
@click.option("--prefix", default="", metavar="TEXT", help="Copy only subjects that begin so, and those they refer to.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@store_options
def import_command(
    *,
    file: Path | None,
    from_glue: bool,
    registry: str | None,
    source: str | None,
    from_user_info: str | None,
    target: str | None,
    to_user_info: str | None,
    context: str | None,
    prefix: str,
    as_json: bool,
    home: Path | None,
    store_url: str | None,
) -> None:
    """Import FILE, an export, or a live Glue registry into the store; or copy a live registry with Confluent's API.

    Versions keep their ids and numbers.

    An import that was stopped continues when it is started again. At the end every version is compared; exits with 4 if
    there are differences.
    """
    if (file is not None) + from_glue + (source is not None) != 1:
        raise InvalidInput(
            "An import needs one source: a file or a registry.", remedy="Give one of FILE, --from-glue and --from-confluent."
        )
    if registry is not None and not from_glue:
        raise InvalidInput("--registry chooses one of Glue's registries.", remedy="Give it with --from-glue.")
    if source is None:
        from penstock.cli.registry.files import import_file, import_glue  # noqa: PLC0415

        if file is not None:
            import_file(file, home, store_url, as_json=as_json)
        else:
            import_glue(registry, home, store_url, as_json=as_json)
        return
    if not target:
        raise InvalidInput("The target's URL is missing.", remedy='Give --to, or run: eval "$(penstock env)"')
    console = Console(stderr=True)
    with console.status("Reading the source's subjects") as status:
        report = ConfluentImport(
            ConfluentClient(source, user_info=from_user_info),
            ConfluentClient(target, user_info=to_user_info),
            prefix=prefix,
            context=None if context is None else context.strip(".:"),
            progress=lambda subject, done, total: status.update(f"{done} of {total} subjects: {subject}"),
        ).run()
    click.echo(json.dumps(asdict(report), indent=2) if as_json else _summary(report))
    raise_differences(
        report.differences,
        "between the source and the target",
        remedy="Another run copies what the source got meanwhile; otherwise import into an empty context "
        "with --context, or delete the conflicting versions.",
    )


def _summary(report: ImportReport) -> str:
    return (
        f"{report.versions} versions of {report.subjects} subjects: {report.copied} copied, the others were there; "
        f"{report.deleted} soft-deleted as in the source, {report.levels} compatibility levels set."
    )

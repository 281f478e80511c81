"""``penstock registry export``, ``import FILE`` and ``audit``: they use the store directly, also while servers run."""

import json
import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import click
from rich.console import Console

from penstock import durable
from penstock.cli.registry.differences import raise_differences
from penstock.cli.server.stores import opened_store
from penstock.client.glue_export import glue_records
from penstock.errors import AlreadyExists, EnvironmentProblem, InvalidInput
from penstock.registry.service import RegistryService
from penstock.registry.transfer import TransferReport, compared, exported, import_lines, import_records, written
from penstock.store.sql.migrate import migrate
from penstock.store.sql.registry.store import SqlRegistryStore

__all__ = ["export_glue", "export_store", "import_file", "import_glue", "show_audit"]

_RESOURCE = re.compile(r"registry/[^/]+|schema/[^/]+/[^/]+|version/[^/]+|arn:.+|catalog|store")


def export_store(file: Path, registry: str | None, home: Path | None, store_url: str | None) -> None:
    """Write the store's registries, or one, into ``file``."""
    with opened_store(home, store_url) as database:
        migrate(database)
        _write(file, written(exported(SqlRegistryStore(database), registry)))


def export_glue(file: Path, registry: str | None) -> None:
    """Write the registries, or one, of the Glue service that AWS's variables name into ``file``."""
    _write(file, written(glue_records(registry)))


def import_file(file: Path, home: Path | None, store_url: str | None, *, as_json: bool) -> None:
    """Add the records of ``file`` to the store; :class:`DataProblem` if the store differs from them."""
    with ExitStack() as stack:
        database = stack.enter_context(opened_store(home, store_url, existing=False))
        migrate(database)
        store = SqlRegistryStore(database)
        report = import_lines(store, RegistryService(store), stack.enter_context(_reading(file)))
    _tell(report, as_json=as_json)
    raise_differences(
        report.differences,
        "between the file and the store",
        remedy="Import into an empty store, or delete the conflicting versions and run it again.",
    )


def import_glue(registry: str | None, home: Path | None, store_url: str | None, *, as_json: bool) -> None:
    """Copy the registries of the live Glue service into the store, then read them again and compare.

    Existing versions stay, so that an import that was stopped continues when it is started again. Raises
    :class:`DataProblem` if the store differs at the end, maybe because the service was changed meanwhile.
    """
    with opened_store(home, store_url, existing=False) as database:
        migrate(database)
        store = SqlRegistryStore(database)
        service = RegistryService(store)
        with Console(stderr=True).status("Copying") as status:
            copied = import_records(store, service, glue_records(registry))
            status.update("Comparing")
            report = compared(store, service, glue_records(registry))
    report.added = copied.added
    # The reason why a version could not be copied says more than that it is missing.
    report.differences[:0] = [difference for difference in copied.differences if difference not in report.differences]
    _tell(report, as_json=as_json)
    raise_differences(
        report.differences,
        "between the source and the store",
        remedy="Another run copies what the source got meanwhile; otherwise import into an empty store, or delete "
        "the conflicting versions.",
    )


def _tell(report: TransferReport, *, as_json: bool) -> None:
    if as_json:
        counts = {"versions": report.versions, "added": report.added, "differences": report.differences}
        click.echo(json.dumps(counts, indent=2))
    else:
        click.echo(f"{report.versions} versions: {report.added} added, {report.versions - report.added} not.")


def show_audit(home: Path | None, store_url: str | None, *, resource: str | None, count: int, as_json: bool) -> None:
    """Print the newest changes; :class:`InvalidInput` for a ``resource`` that no entry can have."""
    if resource is not None and not _RESOURCE.fullmatch(resource):
        raise InvalidInput(
            f"'{resource}' does not name a resource of the audit log.",
            remedy="Write registry/NAME, schema/REGISTRY/NAME, version/ID or an ARN of IAM.",
        )
    with opened_store(home, store_url) as database:
        migrate(database)
        page = RegistryService(SqlRegistryStore(database)).audit.list(resource=resource, size=count)
    if as_json:
        for entry in page.items:
            names = ("number", "principal", "client", "operation", "resource", "outcome")
            click.echo(json.dumps({"time": entry.time.isoformat(), **{name: getattr(entry, name) for name in names}}))
        return
    for entry in page.items:
        who = f"{entry.principal} from {entry.client}"
        time = entry.time.isoformat(timespec="seconds")
        # Settings of all registries have no resource name.
        click.echo(f"{time}  {entry.operation}  {entry.resource or '*'}  {entry.outcome}  by {who}")


def _write(file: Path, lines: Iterable[str]) -> None:
    if str(file) == "-":
        for line in lines:
            click.echo(line)
        return
    count = 0
    try:
        with durable.writing(file, new=True) as output:
            for line in lines:
                output.write(line.encode() + b"\n")
                count += 1
    except FileExistsError:
        raise AlreadyExists(f"{file} exists.", remedy="Choose another name, or remove the file.") from None
    except OSError as error:
        raise EnvironmentProblem(f"{file} cannot be written: {error.strerror}.", remedy="Choose another one.") from error
    click.echo(f"{file}: {count:,} lines, {file.stat().st_size / 1e6:.1f} MB.")


def _reading(file: Path) -> IO[str]:
    if str(file) == "-":
        return click.open_file("-", encoding="utf-8")
    try:
        return file.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise EnvironmentProblem(f"{file} cannot be read: {error.strerror}.", remedy="Check the name.") from error

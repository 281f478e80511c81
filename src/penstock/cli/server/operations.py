"""``penstock operations``: which of AWS's operations this server supports, and which it does not yet."""

import json

import click
from rich.console import Console
from rich.table import Table

from penstock.server.wiring import offline_coverage

__all__ = ["command"]


@click.command("operations")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: every operation by service, true if it is served.")
@click.option("--missing", is_flag=True, help="List the operations that are not served instead.")
@click.argument("services", nargs=-1)
def command(services: tuple[str, ...], as_json: bool, missing: bool) -> None:
    """List the AWS operations that are served (of SERVICES, or of all)."""
    coverage = offline_coverage()
    unknown = set(services) - set(coverage)
    if unknown:
        raise click.BadParameter(f"{', '.join(sorted(unknown))}: known are {', '.join(coverage)}", param_hint="SERVICES")
    chosen = {name: operations for name, operations in coverage.items() if not services or name in services}
    if as_json:
        click.echo(json.dumps(chosen, indent=2))
        return
    table = Table("service", "served", "not yet", "not served yet" if missing else "operations")
    for name, operations in chosen.items():
        served = [operation for operation, is_served in operations.items() if is_served]
        others = [operation for operation, is_served in operations.items() if not is_served]
        table.add_row(name, str(len(served)), str(len(others)), ", ".join(others if missing else served))
    Console().print(table)

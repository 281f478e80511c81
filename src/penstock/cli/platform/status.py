"""``penstock status``: the platform's parts, their addresses, and whether each answers now."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from penstock.cli.options import home_option
from penstock.errors import EnvironmentProblem
from penstock.local.instance import Instance, PlatformState
from penstock.local.platform import Part, home_at, parts_of

__all__ = ["command"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """One part. ``healthy``: whether it answers now; ``problem``: why not, if known."""

    name: str
    title: str
    address: str
    healthy: bool
    problem: str | None
    pid: int | None
    restarts: int
    start_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformStatus:
    """The platform: ``phase`` is stopped, starting, running, degraded or stopping; ``uptime_seconds`` since its start."""

    home: str
    phase: str
    healthy: bool
    pid: int | None
    uptime_seconds: float | None
    parts: tuple[PartStatus, ...]


@click.command("status")
@home_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(home: Path | None, as_json: bool) -> None:
    """Show the platform's parts, their addresses and health. Exits with 0 if all are healthy, else with 1."""
    place = home_at(home)
    config = place.load()
    instance = Instance(place.run)
    state = instance.read() if instance.is_held() else None
    with ThreadPoolExecutor() as executor:
        parts = tuple(executor.map(lambda part: _ask(part, state), parts_of(place, config)))
    status = PlatformStatus(
        home=str(place.root),
        phase=state.phase if state else "stopped",
        healthy=state is not None and state.phase == "running" and all(part.healthy for part in parts),
        pid=state.pid if state else None,
        uptime_seconds=round(time.time() - state.started_at, 1) if state else None,
        parts=parts,
    )
    if as_json:
        click.echo(json.dumps(asdict(status), indent=2))
    else:
        _show(status)
    if not status.healthy:
        raise click.exceptions.Exit(1)


def _ask(part: Part, state: PlatformState | None) -> PartStatus:
    state_of_part = (
        next((part_state for part_state in state.parts if part_state.name == part.service.name), None) if state else None
    )
    healthy, problem = False, state_of_part.problem if state_of_part else None
    if state_of_part is not None:
        try:
            healthy = part.service.is_ready()
        except EnvironmentProblem as error:
            problem = error.message
    return PartStatus(
        name=part.service.name,
        title=part.service.title,
        address=part.address,
        healthy=healthy,
        problem=problem,
        pid=state_of_part.pid if state_of_part else None,
        restarts=state_of_part.restarts if state_of_part else 0,
        start_seconds=state_of_part.start_seconds if state_of_part else None,
    )


def _show(status: PlatformStatus) -> None:
    console = Console(highlight=False, soft_wrap=True)
    up = "" if status.uptime_seconds is None else f" for {status.uptime_seconds:.0f} s (process {status.pid})"
    console.print(f"The platform in {status.home} is {status.phase}{up}.", markup=False)
    if status.phase == "stopped":
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("part", "listens on", "health", "restarts", "ready after"):
        table.add_column(column, no_wrap=True)
    for part in status.parts:
        health = "healthy" if part.healthy else "not healthy"
        seconds = "" if part.start_seconds is None else f"{part.start_seconds:.1f} s"
        table.add_row(part.title, part.address, health, str(part.restarts), seconds)
    console.print(table)
    for part in status.parts:
        if part.problem:
            console.print(f"{part.title}: {part.problem}", markup=False)

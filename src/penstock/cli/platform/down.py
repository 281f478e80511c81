"""``penstock down``: stop the platform of a home and wait until everything has ended."""

import contextlib
import os
import signal
from pathlib import Path

import click

from penstock.cli.options import home_option
from penstock.errors import EnvironmentProblem
from penstock.local.instance import Instance, process_started
from penstock.local.platform import home_at
from penstock.retries import wait_until

__all__ = ["command"]


@click.command("down")
@home_option
@click.option("--timeout", type=click.FloatRange(1, 600), default=90.0, show_default=True, help="Seconds to wait.")
def command(home: Path | None, timeout: float) -> None:
    """Stop the platform and wait until its last process has ended. Its data stay."""
    place = home_at(home)
    instance = Instance(place.run)
    if not instance.is_held():
        instance.wait_for_leftovers()
        click.echo(f"No platform runs in {place.root}.")
        return
    state = instance.read()
    # The lock is taken before the first state is written; a process id of an earlier platform must not get the signal.
    if state is None or (started := process_started(state.pid)) is None or started > state.started_at:
        raise EnvironmentProblem(f"The platform in {place.root} is starting.", remedy="Try again in a moment.")
    with contextlib.suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)
    if not wait_until(lambda: not instance.is_held(), seconds=timeout):
        raise EnvironmentProblem(
            f"The platform in {place.root} (process {state.pid}) has not ended after {timeout:.0f} s.",
            remedy=f"See the logs in {place.logs}; 'kill -9 {state.pid}' ends it with all its parts.",
        )
    instance.wait_for_leftovers()
    click.echo(f"The platform in {place.root} has stopped.")

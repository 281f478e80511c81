"""``penstock demo``: the whole platform on real data, and a reconciliation of every record."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from penstock.demo.console import Steps
from penstock.demo.report import Outcome, report_lines
from penstock.demo.scenario import STEPS, Demo
from penstock.settings.home import Home

__all__ = ["command"]


@click.command("demo")
@click.option("--records", type=click.IntRange(1_000, 336_776), help="Flights to replay. [default: all 336,776]")
@click.option("--keep", is_flag=True, help="Leave the platform up, with all data, when the demo is over.")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    help="Empty folder for the platform. [default: .penstock-demo]",
)
def command(records: int | None, keep: bool, home: Path | None) -> None:
    """Registry, broker, Spark, lake, catalog and SQL on the flights that left New York in 2013.

    The schema evolves while the job runs, records are damaged, the job is killed; at the end every record and every field
    is compared with the source. Ends with 4 where one differs.
    """
    console = Console(soft_wrap=True)
    folder = _folder(home)
    began = time.monotonic()
    steps = Steps(console, STEPS)
    try:
        outcome = Demo(Home(folder), records, keep, steps).run()
    except BaseException:
        console.print(f"Everything was stopped. What this run left, its logs among it, is in {folder}.", markup=False)
        raise
    _report(console, steps, outcome, time.monotonic() - began)
    outcome.reconciliation.check()
    if not keep and home is None:
        shutil.rmtree(folder)


def _folder(home: Path | None) -> Path:
    if home is not None:
        if home.exists() and any(home.iterdir()):
            raise click.UsageError(f"{home} is not empty. The demo wants a folder of its own.")
        return Home.at(home, os.environ).root
    parent = Home.at(Path(".penstock-demo"), os.environ).root
    parent.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=parent))


def _report(console: Console, steps: Steps, outcome: Outcome, seconds: float) -> None:
    console.print()
    for line in report_lines(outcome, steps.seconds, seconds):
        console.print(line, highlight=False, markup=False)
    if outcome.kept:
        console.print(f'\nThe platform is still up. Next:\n  eval "$(penstock env --home {outcome.home})"', markup=False)
        console.print('  penstock sql "SELECT * FROM nyc.flights LIMIT 5"', markup=False)
        console.print(f"  penstock down --home {outcome.home}", markup=False)
    else:
        console.print("\nLook around in a platform of your own: docs/quickstart.md, or run this with --keep.", markup=False)

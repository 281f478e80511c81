"""``penstock demo``: the whole platform on real data, with a reconciliation of every record."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import click
from rich.console import Console

from penstock.cli.options import FOLDER
from penstock.demo.console import Steps
from penstock.demo.report import Outcome, report_lines
from penstock.demo.scenario import STEPS, Demo
from penstock.settings.home import Home

__all__ = ["command"]


@click.command("demo")
@click.option("--records", type=click.IntRange(1_000, 336_776), help="Number of flights to replay. [default: all 336,776]")
@click.option("--keep", is_flag=True, help="Leave the platform running, with all data, after the demo.")
@click.option(
    "--home",
    type=FOLDER,
    help="An empty folder for the platform. [default: .penstock-demo]",
)
def command(records: int | None, keep: bool, home: Path | None) -> None:
    """Show registry, broker, Spark, lake, catalog and SQL on the flights that left New York in 2013.

    The schema evolves while the job runs, records are damaged, and the job is killed. At the end every record and every
    field is compared with the source. Exits with 4 if one differs.
    """
    console = Console(soft_wrap=True)
    folder = _folder(home)
    began = time.monotonic()
    steps = Steps(console, STEPS)
    try:
        outcome = Demo(Home(folder), records, keep, steps).run()
    except BaseException:
        console.print(f"The platform was stopped. Its data and logs are in {folder}.", markup=False)
        raise
    _report(console, steps, outcome, time.monotonic() - began)
    outcome.reconciliation.check()
    if not keep and home is None:
        shutil.rmtree(folder)


def _folder(home: Path | None) -> Path:
    if home is not None:
        if home.exists() and any(home.iterdir()):
            raise click.UsageError(f"{home} is not empty. Give an empty folder with --home.")
        return Home.at(home, os.environ).root
    parent = Home.at(Path(".penstock-demo"), os.environ).root
    parent.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=parent))


def _report(console: Console, steps: Steps, outcome: Outcome, seconds: float) -> None:
    console.print()
    for line in report_lines(outcome, steps.seconds, seconds):
        console.print(line, highlight=False, markup=False)
    if outcome.kept:
        console.print(f'\nThe platform still runs. Next:\n  eval "$(penstock env --home {outcome.home})"', markup=False)
        console.print('  penstock sql "SELECT * FROM nyc.flights LIMIT 5"', markup=False)
        console.print(f"  penstock down --home {outcome.home}", markup=False)
    else:
        console.print("\nTo look around, run the demo with --keep, or start a platform: docs/quickstart.md.", markup=False)

"""``penstock fetch``: downloads the JVM artefacts into the cache, with a progress bar on a terminal, else plain lines."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from penstock.errors import EnvironmentProblem
from penstock.local.artefacts import Artefact, Report, cache_folder, class_path, fetch, group_names
from penstock.local.java import find_java

__all__ = ["FetchProgress", "command", "fetch_shown", "spark_archive"]

_PLAIN_LINES = 4  # per fetch


class FetchProgress:
    """Shows one fetch on ``console``: a bar on a terminal, else a line for each quarter."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.count = 0
        self.total = 0
        self.received = 0
        self.quarter = 0
        self.began = time.monotonic()
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def report(self) -> Report:
        """Return the callbacks of this display."""
        return Report(begin=self.begin, advance=self.advance, finished=self.finished, note=self.note)

    def begin(self, count: int, size: int) -> None:
        """Show the start: ``count`` files with ``size`` bytes in total."""
        self.count = count
        self.total = size
        if not self.console.is_terminal:
            self.note(f"Fetching {count} JVM artefacts ({size / 1e6:.0f} MB), once for this machine.")
        else:
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self.bar = Progress(*columns, TimeRemainingColumn(), console=self.console, transient=True)
            self.task = self.bar.add_task("Fetching JVM artefacts", total=size)
            self.bar.start()

    def advance(self, size: int) -> None:
        """Count ``size`` bytes; a negative number for discarded ones."""
        self.received += size
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self.received)
        elif self.received < self.total and (quarter := self.received * _PLAIN_LINES // self.total) > self.quarter:
            self.quarter = quarter
            self.note(f"{self.received / 1e6:.0f} of {self.total / 1e6:.0f} MB")

    def finished(self, artefact: Artefact) -> None:
        """Show the file that was fetched last."""
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, description=f"Fetching {artefact.coordinate.split(':')[1]}")

    def note(self, text: str) -> None:
        """Print a line, above the bar if there is one."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.stop()

    def summary(self, cache: Path) -> None:
        """Print what was fetched, if anything."""
        if self.count:
            seconds = time.monotonic() - self.began
            self.note(f"{self.count} JVM artefacts ({self.total / 1e6:.0f} MB) are in {cache} ({seconds:.0f} s).")


def fetch_shown(groups: Iterable[str], *, cache: Path, verify: bool = False) -> bool:
    """Fetch ``groups`` with progress on stderr. Return whether anything had to be fetched."""
    shown = FetchProgress(Console(stderr=True))
    try:
        fetch(groups, cache=cache, verify=verify, report=shown.report())
    finally:
        shown.close()
    shown.summary(cache)
    return shown.count > 0


def spark_archive(java_home: Path) -> Path:
    """Return the path of the class archive for this environment's Spark, which may not exist. Fetches Spark's connectors."""
    from penstock.spark.archive import class_archive  # noqa: PLC0415 - needs Spark, which not every installation has

    return class_archive(cache_folder(os.environ), java_home, class_path("spark"))


@contextmanager
def _step(console: Console, text: str) -> Iterator[None]:
    """Show ``text`` while the block runs: on a terminal as a line that disappears, else as a plain one."""
    if console.is_terminal:
        with console.status(f"{text} ..."):
            yield
    else:
        console.print(f"{text}.", highlight=False, markup=False, soft_wrap=True)
        yield


def _prepare_spark() -> None:
    """Make the class archive if it is missing. Without it, Spark starts more slowly."""
    if find_spec("pyspark") is None:
        return
    from penstock.spark.archive import make_class_archive  # noqa: PLC0415

    try:
        java_home = find_java(os.environ).home
        archive = spark_archive(java_home)
        if not archive.is_file():
            began = time.monotonic()
            with _step(Console(stderr=True), "Preparing Spark for quick starts, once for this environment"):
                make_class_archive(archive, java_home, class_path("spark"))
            click.echo(f"Spark is prepared for quick starts ({time.monotonic() - began:.0f} s).", err=True)
    except EnvironmentProblem as problem:
        click.echo(f"Spark will start more slowly: {problem.message}", err=True)


@click.command("fetch")
@click.option("--with-tests", is_flag=True, help="Also fetch what only the tests need (AWS's Java serde).")
@click.option("--quiet-when-cached", is_flag=True, help="Print nothing if everything is in the cache.")
@click.option("--verify", is_flag=True, help="Hash every cached file instead of comparing its size and marker.")
def command(with_tests: bool, quiet_when_cached: bool, verify: bool) -> None:
    """Download the JVM artefacts into the cache (PENSTOCK_CACHE), check each SHA-256, and prepare Spark."""
    cache = cache_folder(os.environ)
    fetched = fetch_shown(group_names(with_tests=with_tests), cache=cache, verify=verify)
    _prepare_spark()
    if verify or not (fetched or quiet_when_cached):
        how = "verified" if verify else "complete"
        click.echo(f"The JVM artefacts in {cache} are {how}.", err=True)

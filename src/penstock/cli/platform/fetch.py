"""``penstock fetch``: the JVM artefacts into the cache, with a bar on a terminal and plain lines elsewhere."""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from penstock.errors import EnvironmentProblem
from penstock.local.artefacts import Artefact, Report, cache_folder, class_path, fetch, group_names
from penstock.local.java import find_java

__all__ = ["command", "fetch_shown", "spark_archive"]

_LINE_EVERY = 20_000_000  # bytes between two plain lines


class _Shown:
    """Shows one fetch: a bar where someone watches, a line every 20 MB where the output is a file."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.total = 0
        self.received = 0
        self.said = 0
        self.bar: Progress | None = None
        self.task: TaskID | None = None

    def report(self) -> Report:
        """The callbacks of this display."""
        return Report(begin=self.begin, advance=self.advance, finished=self.finished, note=self.note)

    def begin(self, count: int, size: int) -> None:
        """Say what is to come: ``count`` files of ``size`` bytes together."""
        self.total = size
        self.note(f"Fetching {count} JVM artefacts ({size / 1e6:.0f} MB), once for this machine.")
        if self.console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self.bar = Progress(*columns, TimeRemainingColumn(), console=self.console, transient=True)
            self.task = self.bar.add_task("JVM artefacts", total=size)
            self.bar.start()

    def advance(self, size: int) -> None:
        """Count ``size`` bytes; negative ones were thrown away."""
        self.received += size
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self.received)
        elif self.received >= self.said + _LINE_EVERY:
            self.said = self.received
            self.note(f"{self.received / 1e6:.0f} of {self.total / 1e6:.0f} MB")

    def finished(self, artefact: Artefact) -> None:
        """Show which file came last."""
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, description=artefact.coordinate.split(":")[1])

    def note(self, text: str) -> None:
        """Print a line, above the bar where there is one."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()


def fetch_shown(groups: Iterable[str], *, cache: Path, verify: bool = False) -> bool:
    """Fetch ``groups`` with progress on stderr; whether anything had to be fetched."""
    shown = _Shown(Console(stderr=True))
    try:
        fetch(groups, cache=cache, verify=verify, report=shown.report())
    finally:
        shown.close()
    return shown.total > 0


def spark_archive(java_home: Path) -> Path:
    """Where the class archive of this environment's Spark is kept, made or not; fetches Spark's connectors if need be."""
    from penstock.spark.archive import class_archive  # noqa: PLC0415 - needs Spark, which not every installation has

    return class_archive(cache_folder(os.environ), java_home, class_path("spark"))


def _prepare_spark() -> None:
    """Make the class archive where it is missing. Spark starts without it too, only slower."""
    if find_spec("pyspark") is None:
        return
    from penstock.spark.archive import make_class_archive  # noqa: PLC0415

    try:
        java_home = find_java(os.environ).home
        archive = spark_archive(java_home)
        if not archive.is_file():
            click.echo("Preparing Spark for quick starts, once for this environment (half a minute or more).", err=True)
            make_class_archive(archive, java_home, class_path("spark"))
    except EnvironmentProblem as problem:
        click.echo(f"Spark will start more slowly: {problem.message}", err=True)


@click.command("fetch")
@click.option("--with-tests", is_flag=True, help="Also what only the tests need (AWS's own Java serde).")
@click.option("--quiet-when-cached", is_flag=True, help="Say nothing when everything is there.")
@click.option("--verify", is_flag=True, help="Hash every cached file instead of trusting its size and marker.")
def command(with_tests: bool, quiet_when_cached: bool, verify: bool) -> None:
    """Fetch the JVM artefacts into the cache (PENSTOCK_CACHE), each checked against its SHA-256; prepare Spark."""
    cache = cache_folder(os.environ)
    fetched = fetch_shown(group_names(with_tests=with_tests), cache=cache, verify=verify)
    _prepare_spark()
    if fetched or not quiet_when_cached:
        how = "verified" if verify else "complete"
        click.echo(f"The JVM artefacts in {cache} are {how}.", err=True)

"""What ``penstock fetch`` shows: a bar that goes away on a terminal, a few plain lines elsewhere, one line at the end."""

import io
import re
from pathlib import Path

from rich.console import Console

from penstock.cli.platform.fetch import FetchProgress
from penstock.local.artefacts import Artefact

SIZE = 1_000_000
SUMMARY = re.compile(r"100 JVM artefacts \(100 MB\) are in /cache \(\d+ s\)\.")


def shown(*, terminal: bool) -> str:
    """What a fetch of 100 files of 1 MB shows."""
    stream = io.StringIO()
    progress = FetchProgress(Console(file=stream, force_terminal=terminal, width=200))
    progress.begin(100, 100 * SIZE)
    for number in range(100):
        progress.advance(SIZE)
        progress.finished(Artefact(group="g", coordinate=f"org.example:name-{number}:1", sha256="", size=SIZE))
    progress.close()
    progress.summary(Path("/cache"))
    return stream.getvalue()


def test_without_a_terminal_there_is_a_plain_line_a_quarter() -> None:
    first, *quarters, last = shown(terminal=False).splitlines()
    assert first == "Fetching 100 JVM artefacts (100 MB), once for this machine."
    assert quarters == ["25 of 100 MB", "50 of 100 MB", "75 of 100 MB"]
    assert SUMMARY.fullmatch(last)


def test_on_a_terminal_one_line_stays() -> None:
    *_, last = shown(terminal=True).split("\x1b[2K")
    assert SUMMARY.fullmatch(last.rstrip("\n"))


def test_nothing_is_shown_where_all_is_there() -> None:
    stream = io.StringIO()
    progress = FetchProgress(Console(file=stream))
    progress.close()
    progress.summary(Path("/cache"))
    assert stream.getvalue() == ""

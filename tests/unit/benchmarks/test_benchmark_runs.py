"""``python -m benchmarks``: what was measured stays when a later suite fails."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.__main__ import SUITES, main, measure, table
from benchmarks.timing import Row


def row(what: str) -> Row:
    return Row(what, "2/s", "1/s", 2.0, "1 or more", True)


def test_a_suite_that_fails_loses_no_rows_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "bench-results.md"
    at_failure: list[str] = []

    def fails() -> list[Row]:
        at_failure.append(results.read_text())
        raise LookupError("the broker is gone")

    suites: dict[str, Callable[[], list[Row]]] = {
        "first": lambda: [row("one")],
        "second": fails,
        "third": lambda: [row("two"), row("three")],
    }
    for name, run in suites.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", SimpleNamespace(run=run))
    assert measure(list(suites)) == 1
    assert at_failure == [table([row("one")])]
    assert results.read_text() == table([row("one"), row("two"), row("three")])
    errors = capsys.readouterr().err
    assert "the broker is gone" in errors
    assert "failed: second; bench-results.md has the others" in errors


def test_a_run_whose_suites_all_end_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "benchmarks.only", SimpleNamespace(run=lambda: [row("one")]))
    assert measure(["only"]) == 0


def test_help_names_every_suite_and_runs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    output = capsys.readouterr().out
    assert [suite for suite in SUITES if suite not in output] == []
    assert not list(tmp_path.iterdir())


def test_an_unknown_suite_is_refused_before_the_first_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["serdes", "no-such-suite"])
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert "no-such-suite" in errors
    assert [suite for suite in SUITES if suite not in errors] == []
    assert not list(tmp_path.iterdir())

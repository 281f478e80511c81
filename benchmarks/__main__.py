"""Runs the benchmarks named as arguments (all by default) and writes ``bench-results.md`` after each."""

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.timing import Row

__all__ = ["SUITES", "main", "table"]

SUITES = ("serdes", "registry", "durability", "scale", "catalog", "sql", "tpch", "decode", "pipeline", "compact")
_RESULTS = "bench-results.md"


def main(suites: Sequence[str]) -> int:
    """Print the rows of each suite and write the table after it. Return 1 if a suite failed, after the others have run."""
    rows: list[Row] = []
    failed: list[str] = []
    for suite in suites:
        try:
            for row in import_module(f"benchmarks.{suite}").run():
                print(f"{row.what}: {row.ours} against {row.other}, ratio {row.ratio:.2f} (aim: {row.aim})", flush=True)
                rows.append(row)
        except Exception:  # noqa: BLE001 -- hours of measurements of other suites are not lost by it
            traceback.print_exc()
            failed.append(suite)
        Path(_RESULTS).write_text(table(rows))
    if failed:
        print(f"failed: {', '.join(failed)}; {_RESULTS} has the others", file=sys.stderr)
    return 1 if failed else 0


def table(rows: Sequence[Row]) -> str:
    """Render the rows as a Markdown table."""
    lines = ["| what | Penstock | other | ratio | aim | reached |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.ours} | {row.other} | {row.ratio:.2f} | {row.aim} | {'yes' if row.reached else 'no'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or SUITES))

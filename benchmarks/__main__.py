"""Runs benchmarks and writes ``bench-results.md`` after each: ``python -m benchmarks --help``."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.timing import Row

__all__ = ["SUITES", "main", "measure", "table"]

SUITES = ("serdes", "registry", "durability", "scale", "accounts", "catalog", "sql", "tpch", "decode", "pipeline", "compact")
_RESULTS = "bench-results.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that the command line names, or all. An unknown one exits with 2 before the first is run."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Runs benchmarks, prints a ratio for each figure, and writes them to {_RESULTS} after each suite.",
        epilog="PENSTOCK_BENCH_SMALL=1 runs each as small as it can be, to see that it runs.",
    )
    parser.add_argument(
        "suites", nargs="*", choices=SUITES, metavar="suite", help=f"one of {', '.join(SUITES)}; all without one"
    )
    return measure(parser.parse_args(arguments).suites or SUITES)


def measure(suites: Sequence[str]) -> int:
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
    sys.exit(main())

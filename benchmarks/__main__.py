"""Runs the benchmarks named as arguments (all by default) and writes ``bench-results.md``."""

import sys
from importlib import import_module
from pathlib import Path

from benchmarks.timing import Row

__all__ = ["SUITES", "main", "table"]

SUITES = ("serdes", "registry", "durability", "scale", "catalog", "sql", "tpch", "decode", "pipeline", "compact")


def main() -> None:
    """Print each row as it is measured, and write the table."""
    rows: list[Row] = []
    for suite in sys.argv[1:] or SUITES:
        for row in import_module(f"benchmarks.{suite}").run():
            print(f"{row.what}: {row.ours} against {row.other}, ratio {row.ratio:.2f} (aim: {row.aim})", flush=True)
            rows.append(row)
    Path("bench-results.md").write_text(table(rows))


def table(rows: list[Row]) -> str:
    """Render the rows as a Markdown table."""
    lines = ["| what | Penstock | other | ratio | aim | reached |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.ours} | {row.other} | {row.ratio:.2f} | {row.aim} | {'yes' if row.reached else 'no'} |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

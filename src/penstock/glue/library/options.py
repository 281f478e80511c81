"""What becomes of an option of a script: at run time, and in the check before it."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from penstock.glue.library.connection_options import BATCHES, PURGE, READS, TABLE_READS, TABLE_WRITES, WRITES
from penstock.glue.library.format_options import ATTACHED, FORMATS
from penstock.glue.library.option_rows import OptionRow, by_name

__all__ = ["OPTIONS", "PAGE", "Outcome", "outcome_of", "row_of"]

PAGE = "docs/pipelines/glue-options.md"
"""The page that lists all options."""

OPTIONS: Mapping[str, Mapping[str, OptionRow]] = {
    **dict(READS.values()),
    **dict(WRITES.values()),
    **{f"the format {form}": by_name(rows, ATTACHED) for form, rows in FORMATS.items()},
    **TABLE_READS,
    **TABLE_WRITES,
    "forEachBatch": BATCHES,
    "the purge": PURGE,
}
"""By owner, as messages name it: its options by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of an option; ``unknown`` is one that AWS ignores, too. ``note`` is a whole sentence, or empty."""

    status: Literal["served", "no effect", "refused", "unknown"]
    note: str = ""


def row_of(owner: str, name: str) -> OptionRow | None:
    """Return the row of an option, None if ``owner`` has none."""
    rows = OPTIONS[owner]
    if name in rows:
        return rows[name]
    return next((row for row in rows.values() if row.name.endswith(".*") and name.startswith(row.name[:-1])), None)


def outcome_of(owner: str, name: str, value: Any = None) -> Outcome:
    """Return what becomes of option ``name`` of ``owner``; ``value`` is None if it is not known."""
    row = row_of(owner, name)
    if row is None:
        return Outcome(status="unknown", note=_hint(owner, name))
    if value is not None and str(value).strip().lower() in row.harmless:
        return Outcome(status="served")
    if row.status in {"refused", "no effect"}:
        return Outcome(status=row.status, note=row.note)
    return Outcome(status="served")


def _hint(owner: str, name: str) -> str:
    """Return what may have been meant: a served option by another spelling, or another owner's."""
    served = [row.name for row in OPTIONS[owner].values() if row.status == "served"]
    folded = {item.lower(): item for item in served}
    near = folded.get(name.lower()) or next(iter(difflib.get_close_matches(name, served, 1, 0.75)), None)
    if near is not None:
        return f"Did you mean {near}?"
    other = next((option for option, rows in OPTIONS.items() if name in rows), None)
    return f"It is an option of {other}." if other is not None else ""

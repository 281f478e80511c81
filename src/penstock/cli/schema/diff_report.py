"""The report of ``penstock schema diff``: side by side as in ``diff -y``, and as JSON."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from typing import Any

import click
from rich.cells import cell_len, set_cell_size

from penstock.schema.diff.align import kept
from penstock.schema.diff.model import Change, SchemaDiff, broken_modes
from penstock.schema.format import ParsedSchema
from penstock.schema.formats import format_of

__all__ = ["DiffSide", "diff_json", "diff_text"]

_COLOURS = {"<": "red", ">": "green", "|": "yellow"}
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_MAX_TEXT = 200
_MAX_COMPARED = 4_000_000  # pairs of lines, a few seconds at most


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSide:
    """One of the two definitions. ``version`` is its number if it is registered."""

    name: str
    version: int | None
    parsed: ParsedSchema


def diff_json(sides: Sequence[DiffSide], differences: SchemaDiff, rules: str) -> dict[str, Any]:
    """Return the report. ``result`` is same or different; each change has path, both sides and the rules it breaks."""
    old, new = ({"name": side.name, "version": side.version, "definition": side.parsed.text} for side in sides)
    return {
        "result": "different" if differences.changes else "same",
        "data_format": sides[0].parsed.data_format,
        "rules": rules,
        "old": old,
        "new": new,
        **differences.to_json(),
    }


def diff_text(sides: Sequence[DiffSide], differences: SchemaDiff, *, context: int | None, width: int | None) -> str:
    """Return the two definitions in canonical form side by side, then the changes; ``width`` in columns."""
    old, new = sides
    if not differences.changes:
        spelled = "" if old.parsed.text.strip() == new.parsed.text.strip() else ", spelled differently"
        return f"{old.name} and {new.name} are the same {old.parsed.data_format} schema{spelled}."
    columns = width or shutil.get_terminal_size((120, 24)).columns
    lines = [*_beside(old, new, columns, context), ""]
    count = len(differences.changes)
    lines.append(f"{count} change{'' if count == 1 else 's'} from {old.name} to {new.name}. {_verdict(differences)}")
    for change in differences.changes:
        lines.extend(map(_shown, _change(change)))
    for broken in differences.elsewhere:
        lines.append(_shown(f"  {broken.direction}, by several changes together: {broken.incompatibility}"))
    return "\n".join(lines)


def _verdict(differences: SchemaDiff) -> str:
    broken = broken_modes(differences.breaks)
    return f"Breaks {', '.join(broken)}." if broken else "Compatible in every mode."


def _change(change: Change) -> Iterator[str]:
    sides = {"added": change.new, "removed": change.old}.get(change.kind)
    text = f"{_cut(change.old)} -> {_cut(change.new)}" if sides is None else _cut(sides)
    yield ""
    yield f"{_SIGNS[change.kind]} {change.kind} {change.part} at {change.path}: {text}"
    if not change.breaks:
        yield "    compatible in every mode"
    for direction in ("BACKWARD", "FORWARD"):
        broken = [item for item in change.breaks if item.direction == direction]
        if broken:
            reader, writer = ("new", "old") if direction == "BACKWARD" else ("old", "new")
            modes = ", ".join(broken_modes(broken))
            yield f"    breaks {modes}: the {reader} definition cannot read data of the {writer} one"
        for item in broken:
            yield f"      {item.incompatibility}"


def _beside(old: DiffSide, new: DiffSide, width: int, context: int | None) -> Iterator[str]:
    half = (width - 3) // 2
    yield f"{_fit(old.name, half)}   {_fit(new.name, half)}".rstrip()
    for mark, left, right in _rows(_pretty(old), _pretty(new), context):
        line = f"{_fit(left, half)} {mark} {_fit(right, half)}".rstrip()
        yield click.style(line, fg=_COLOURS[mark]) if mark in _COLOURS else line


def _rows(old: list[str], new: list[str], context: int | None) -> Iterator[tuple[str, str, str]]:
    """Yield mark and both lines: ``<`` is on the left only, ``>`` on the right only, ``|`` differs."""
    end_old = end_new = 0
    for from_old, from_new, length in _blocks(old, new):
        for ours, theirs in zip_longest(old[end_old:from_old], new[end_new:from_new]):
            mark = "<" if theirs is None else ">" if ours is None else "|"
            yield mark, ours or "", theirs or ""
        end_old, end_new = from_old + length, from_new + length
        equal = (old[from_old:end_old], new[from_new:end_new])
        yield from _equal(*equal, context, first=from_old == 0, last=end_old == len(old))


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield where equal lines begin on both sides, and their count; the last block is empty, at both ends."""
    if len(old) * len(new) <= _MAX_COMPARED:
        yield from SequenceMatcher(None, old, new).get_matching_blocks()
        return
    # For long texts: less precise about repeated lines, but not quadratic.
    length = 0
    pairs = [*kept(old, new), (len(old), len(new))]
    for (at_old, at_new), following in pairwise(pairs):
        length += 1
        if following != (at_old + 1, at_new + 1) or following == pairs[-1]:
            yield at_old + 1 - length, at_new + 1 - length, length
            length = 0
    yield len(old), len(new), 0


def _equal(
    left: list[str], right: list[str], context: int | None, *, first: bool, last: bool
) -> Iterator[tuple[str, str, str]]:
    pairs = [(" ", ours, theirs) for ours, theirs in zip(left, right, strict=True)]
    if context is None or len(pairs) <= 2 * context:
        yield from pairs
        return
    head, tail = 0 if first else context, 0 if last else context
    yield from pairs[:head]
    hidden = len(pairs) - head - tail
    if hidden:
        yield " ", f"... {hidden} equal line{'' if hidden == 1 else 's'}", ""
    yield from pairs[len(pairs) - tail :]


def _pretty(side: DiffSide) -> list[str]:
    return format_of(side.parsed.data_format).pretty(side.parsed).splitlines()


def _fit(text: str, width: int) -> str:
    """Return ``text`` in exactly ``width`` columns of a terminal, in which a Chinese character takes two."""
    text = _shown(text.expandtabs(4))
    return set_cell_size(text, width - 1) + "…" if cell_len(text) > width else set_cell_size(text, width)


def _cut(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"


def _shown(line: str) -> str:
    """Return a line without control characters, which documentation may contain."""
    return line if line.isprintable() else "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)

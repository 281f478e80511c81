"""One option of a script's dictionaries, and the functions that write several at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["OptionRow", "OptionStatus", "by_name", "no_effect", "not_needed", "refused", "served"]

OptionStatus = Literal["served", "not needed", "no effect", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """An option that AWS documents, or that Penstock serves besides.

    ``not needed`` and ``no effect`` change no row: the former say how AWS moves rows, and are passed over without a word.
    ``note`` says why, or what to do instead of an option that is ``refused``; with a value of ``harmless`` there is
    nothing to say. A name that ends in ``.*`` stands for all that begin so.
    """

    name: str
    status: OptionStatus
    note: str = ""
    harmless: tuple[str, ...] = ()


def served(names: str) -> Sequence[OptionRow]:
    """Rows of ``names``, which are words of one text."""
    return [OptionRow(name=name, status="served") for name in names.split()]


def not_needed(names: str) -> Sequence[OptionRow]:
    """Rows of options that say how AWS moves rows, and without which nothing is lost."""
    return [OptionRow(name=name, status="not needed") for name in names.split()]


def no_effect(names: str, note: str, *, harmless: tuple[str, ...] = ()) -> Sequence[OptionRow]:
    """Rows of options that change no row; ``note`` is a whole sentence that says why."""
    return [OptionRow(name=name, status="no effect", note=note, harmless=harmless) for name in names.split()]


def refused(names: str, note: str, *, harmless: tuple[str, ...] = ()) -> Sequence[OptionRow]:
    """Rows of options without which a result would be another; ``note`` is a whole sentence that says what to do instead."""
    return [OptionRow(name=name, status="refused", note=note, harmless=harmless) for name in names.split()]


def by_name(*lists: Sequence[OptionRow]) -> Mapping[str, OptionRow]:
    """Return the rows of lists by their names; of two with one name the first."""
    named: dict[str, OptionRow] = {}
    for rows in lists:
        for row in rows:
            named.setdefault(row.name, row)
    return named

"""The rows of all areas, and look-ups in them."""

from collections.abc import Mapping, Sequence

from penstock.glue.library import contexts, frames, transforms
from penstock.glue.library.rows import Row

__all__ = ["AREAS", "ROWS", "module_row", "refusals", "row"]

AREAS: Mapping[str, Sequence[Row]] = {
    "Contexts, jobs and arguments": contexts.ROWS,
    "Frames and their types": frames.ROWS,
    "Transforms": transforms.ROWS,
}
"""Rows by the heading of their section on the page."""

ROWS: Sequence[Row] = [item for rows in AREAS.values() for item in rows]

_BY_NAME = {(item.module, item.owner, item.name): item for item in ROWS}


def row(module: str, name: str, owner: str = "") -> Row | None:
    """Return the row of ``module``'s ``name``, or of its class ``owner``; None for a name that AWS does not have.

    A module all of whose names are refused has one row for them, with the name ``*``.
    """
    return _BY_NAME.get((module, owner, name)) or _BY_NAME.get((module, "", "*"))


def module_row(module: str) -> Row | None:
    """Return a row of ``module``; None if AWS does not have the module."""
    return next((row for row in ROWS if row.module == module), None)


def refusals(module: str, owner: str = "") -> Mapping[str, str]:
    """Return what to write instead, by each refused name of ``module``, or of its class ``owner``."""
    return {
        row.name: row.note
        for row in ROWS
        if (row.module, row.owner, row.status) == (module, owner, "refused") and row.name != "*"
    }

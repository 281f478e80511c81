"""Columns of a table, made of a schema: the common part of all formats."""

from dataclasses import dataclass

from penstock.schema.errors import NoColumns
from penstock.types.hive import TypeTooLong, render
from penstock.types.model import MAX_DEPTH, LakeType

__all__ = ["HiveColumn", "check_depth", "hive_column"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HiveColumn:
    """A column: ``name``, ``type`` as the catalog spells it, such as ``array<struct<a:int>>``, ``comment`` from the field's
    doc.
    """

    name: str
    type: str
    comment: str | None = None


def hive_column(name: str, lake_type: LakeType, comment: str | None, *, path: str) -> HiveColumn:
    """Return the column. Raise :class:`NoColumns` if its type is longer than the catalog holds; ``path`` is for messages."""
    try:
        return HiveColumn(name=name, type=render(lake_type), comment=comment)
    except TypeTooLong as error:
        raise NoColumns(
            f"{path}: {error.message}", remedy="Flatten the schema, or repeat nested types less often."
        ) from None


def check_depth(path: str, levels: int) -> None:
    """Raise :class:`NoColumns` for what lies deeper in a schema than the catalog's types can."""
    if levels > MAX_DEPTH:
        raise NoColumns(f"{path}: types nest more than {MAX_DEPTH} levels.", remedy="Flatten the schema.")

"""Lines that a regular expression takes apart (RegexSerDe): a line that does not match as a whole is a row of NULLs.

Patterns are Java's. What Java and Python read in the same way is used; what they do not is refused by name.
"""

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.catalog.model import Column
from penstock.query.tables.formats.faults import bad_data
from penstock.query.tables.formats.lines import LineOptions
from penstock.query.tables.formats.port import Layout, NumberedFile, Relation
from penstock.query.tables.formats.positions import placed_columns, text_relation
from penstock.query.tables.formats.text import scalar
from penstock.sql.errors import StatementError
from penstock.sql.regular_expressions import Pattern, TooSlow
from penstock.types.model import LakeType

__all__ = ["RegexFormat"]

_NAMED = re.compile(r"\(\?<([a-zA-Z]\w*)>")


@dataclass(frozen=True, slots=True)
class RegexFormat:
    """Lines, and the groups of a pattern."""

    pattern: Pattern
    lines: LineOptions
    columns: Layout

    @classmethod
    def compiled(
        cls,
        pattern: str,
        lines: LineOptions,
        columns: Layout,
        *,
        fold: bool,
        refused: Callable[[str], StatementError],
    ) -> "RegexFormat":
        """Return the format. ``refused`` makes the error for a pattern that cannot be used."""
        try:
            with warnings.catch_warnings():
                # Python warns of classes within classes, which Java reads in another way.
                warnings.simplefilter("error")
                result = Pattern(_NAMED.sub(r"(?P<\1>", pattern), narrow=True, fold=fold)
        except (re.error, Warning, RecursionError, OverflowError) as error:
            raise refused(f"input.regex cannot be used: {error}.") from None
        if result.groups != len(columns):
            raise refused(f"input.regex has {result.groups} groups for {len(columns)} columns.")
        return cls(result, lines, columns)

    @property
    def name(self) -> str:
        """The format."""
        return "regular expression"

    def relations(
        self, engine: Any, view: str, files: Sequence[NumberedFile], used: Sequence[Column], *, with_file: bool
    ) -> Sequence[Relation]:
        """See :class:`~penstock.query.tables.formats.port.FileFormat`."""
        _ = with_file
        relation = text_relation(engine, view, files, self.lines, self._split)
        return [replace(relation, columns=placed_columns(self.columns, used, _decoded))]

    def _split(self, file: NumberedFile, _first: int, lines: list[str]) -> pa.Array:
        try:
            matches = list(map(self.pattern.fullmatch, lines))
        except TooSlow as error:
            raise bad_data(file[1].path, f"{error}.") from None
        return pa.array([None if match is None else match.groups() for match in matches], pa.list_(pa.string()))


def _decoded(type_: LakeType, text: str) -> str:
    if type_.name in {"string", "varchar", "char"}:
        return f"left({text}, {type_.numbers[0]})" if type_.numbers else text
    if type_.name in {"array", "map", "struct", "binary"}:
        raise StatementError(
            "HIVE_UNSUPPORTED_FORMAT", f"A column of type {type_.name} cannot be read by a regular expression."
        )
    return scalar(type_, text)

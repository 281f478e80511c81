"""The result of SHOW and DESCRIBE."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.statements.model import ResultColumn

__all__ = ["ShowResult"]


@dataclass(frozen=True, slots=True)
class ShowResult:
    """Column names and rows; all values are text."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def columns(self) -> Sequence[ResultColumn]:
        """The columns as Athena describes them."""
        return [ResultColumn(name=name, type="string") for name in self.names]

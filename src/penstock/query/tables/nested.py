"""Queries within a query: views, and tables of which a caller may read a part."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.query.tables.port import DataFile, Nested
from penstock.sql.library import install

__all__ = ["NestedScan"]


@dataclass(frozen=True, slots=True)
class NestedScan:
    """The scan of a query's own plan. ``view`` is the name under which the engine is to have its rows."""

    plan: Nested
    view: str

    @property
    def repeatable(self) -> bool:
        """Whether all tables of the plan return the same rows over the same data."""
        return all(getattr(scan, "repeatable", True) for scan in self.plan.scans)

    @property
    def files(self) -> Sequence[DataFile]:
        return [file for scan in self.plan.scans for file in scan.files]

    @property
    def partitions_read(self) -> int:
        return sum(scan.partitions_read for scan in self.plan.scans)

    @property
    def partitions_total(self) -> int:
        return sum(scan.partitions_total for scan in self.plan.scans)

    def install(self, engine: Any) -> None:
        """Give the engine the plan's tables and the functions that its SQL calls. Raises :class:`StatementError`."""
        for scan in self.plan.scans:
            scan.install(engine)
        install(engine, self.plan.sql)

"""Whether a batch was published, told from an Iceberg table's history: complete, expired in part, rolled back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from penstock.spark.sinks.iceberg.commits import BatchBranch, branch_name, property_name
from penstock.spark.sinks.port import SinkBatch

_QUERY = "a" * 32
_MARKER = f"penstock:orders:ice:{_QUERY}"


@dataclass
class Snapshot:
    """The part of Iceberg's Snapshot that is read."""

    number: int
    parent: int | None
    batch: int | None = None

    def snapshotId(self) -> int:  # noqa: N802
        return self.number

    def parentId(self) -> int | None:  # noqa: N802
        return self.parent

    def sequenceNumber(self) -> int:  # noqa: N802
        return self.number

    def summary(self) -> Mapping[str, str]:
        return {} if self.batch is None else {"penstock.marker": _MARKER, "penstock.batch": str(self.batch)}


@dataclass
class Table:
    """The part of Iceberg's Table that is read; ``told`` is the property of the sink."""

    snapshots: list[Snapshot]
    current: int
    told: str | None = None
    refreshed: int = field(default=0)

    def refresh(self) -> None:
        self.refreshed += 1

    def properties(self) -> Mapping[str, str]:
        return {} if self.told is None else {property_name("orders", "ice"): self.told}

    def snapshot(self, number: int) -> Snapshot | None:
        return next((snapshot for snapshot in self.snapshots if snapshot.number == number), None)

    def currentSnapshot(self) -> Snapshot | None:  # noqa: N802
        return self.snapshot(self.current)


def _published(table: Table, number: int, query: str = _QUERY) -> str | None:
    nothing: Any = None
    batch = SinkBatch(
        pipeline="orders", sink="ice", query=query, number=number, end="{}", rows=nothing, columns=nothing, count=0
    )
    return BatchBranch(cast("Any", table), batch).published()


@pytest.mark.parametrize(
    ("snapshots", "current", "known"),
    [
        ([Snapshot(1, None), Snapshot(2, 1, 7)], 2, True),
        ([Snapshot(1, None), Snapshot(2, 1, 7), Snapshot(3, 2)], 3, True),
        # Its own snapshot has expired.
        ([Snapshot(4, 3)], 4, True),
        # A branch keeps it, and those that followed have expired.
        ([Snapshot(2, 1, 7), Snapshot(4, 3)], 4, True),
        # Rolled back to an earlier one, with the whole history and without its beginning.
        ([Snapshot(1, None), Snapshot(2, 1, 7)], 1, False),
        ([Snapshot(1, 0), Snapshot(2, 1, 7)], 1, False),
        # Rolled back, and changed by others since.
        ([Snapshot(1, None), Snapshot(2, 1, 7), Snapshot(3, 1)], 3, False),
    ],
)
def test_the_property_counts_unless_its_snapshot_was_rolled_back(
    snapshots: list[Snapshot], current: int, known: bool
) -> None:
    table = Table(snapshots, current, f"{_QUERY} 7 2")
    assert (_published(table, 7) is not None) is known
    assert (_published(table, 6) is not None) is known
    assert _published(table, 8) is None
    assert table.refreshed == 3


def test_without_the_property_the_summaries_count() -> None:
    table = Table([Snapshot(1, None), Snapshot(2, 1, 7), Snapshot(3, 2)], 3)
    assert _published(table, 7) == "2"
    assert _published(table, 8) is None
    assert _published(table, 7, query="b" * 32) is None
    table.told = f"{'b' * 32} 9 3"
    assert _published(table, 7) == "2"


def test_each_sink_has_a_branch_of_its_own() -> None:
    assert branch_name("Orders to-Iceberg", "ice").startswith("penstock_orders_to_iceberg_")
    assert len({branch_name("a", "b"), branch_name("a", "c"), branch_name("a_b", "")}) == 3

"""What the maintenance of an Iceberg or Delta table does, and what it did: their own procedures, in their own commits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["ProcedureReport", "TableMaintenance"]

_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaintenance:
    """How a table is maintained; durations in seconds, sizes in bytes.

    ``where`` is an SQL condition on the rows to rewrite, such as an age of partitions; None rewrites all. ``min_files``:
    Iceberg leaves a partition alone that has fewer files to rewrite. ``expire_after``: the age from which on Iceberg's
    snapshots and their files go; time travel ends there. ``orphans_after``: the age of files that no snapshot has, for
    Delta also of those that a later version removed. Longer than the longest write and the longest query.
    """

    target_file_size: int = 128 * 2**20
    where: str | None = None
    min_files: int = 5
    expire_after: float = 5 * _DAY
    orphans_after: float = 7 * _DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureReport:
    """What one procedure did to a table. ``counts`` are its own, by its own names (``rewritten_data_files_count``)."""

    table: str
    procedure: str
    counts: Mapping[str, int] = field(default_factory=dict)

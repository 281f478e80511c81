"""What a compaction does, and what it did."""

from dataclasses import dataclass

__all__ = ["CompactionSettings", "PartitionReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """How partitions are chosen and rewritten.

    ``target_file_size`` in bytes. ``older_than``: age of a partition in seconds, since it was added to the catalog, from
    which on it counts as closed. ``min_files``: partitions with fewer files below three quarters of the target are left
    alone. ``grace`` in seconds: how long the old files stay after the swap; longer than the longest query.
    """

    target_file_size: int = 128 * 2**20
    older_than: float = 86_400
    min_files: int = 2
    grace: float = 3600
    compression: str = "snappy"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """What was done to one partition, or with a dry run what would be. Sizes in bytes; None where nothing was written.

    ``done``: ``planned`` (dry run), ``swapped`` (old files are kept for the grace time), ``deleted`` (old files are gone).
    """

    table: str
    partition: str
    done: str
    files_before: int
    bytes_before: int
    files_after: int | None = None
    bytes_after: int | None = None

"""What a compaction does, and what it did."""

import re
from dataclasses import dataclass

from penstock.errors import InvalidInput

__all__ = ["CompactionSettings", "PartitionReport", "parse_duration", "parse_size"]

_SIZES = {"": 1, "B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


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


def parse_size(text: str) -> int:
    """Return the bytes of ``128MB``. Raises :class:`InvalidInput`."""
    match = re.fullmatch(r"(\d+)\s*(B|KB|MB|GB|)", text.strip(), re.IGNORECASE)
    if match is None or not int(match[1]):
        raise InvalidInput(f"'{text}' is not a size.", remedy="Write it as 128MB; the units are B, KB, MB and GB.")
    return int(match[1]) * _SIZES[match[2].upper()]


def parse_duration(text: str) -> float:
    """Return the seconds of ``24h``. Raises :class:`InvalidInput`."""
    match = re.fullmatch(r"(\d+)\s*([smhd])", text.strip(), re.IGNORECASE)
    if match is None:
        raise InvalidInput(f"'{text}' is not a duration.", remedy="Write it as 24h; the units are s, m, h and d.")
    return float(int(match[1]) * _SECONDS[match[2].lower()])

"""How much a statement may use, and where its result goes by default."""

from dataclasses import dataclass

from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION

__all__ = ["OUT_OF_MEMORY", "QuerySettings"]

OUT_OF_MEMORY = 77
"""Exit status of a statement's process that filled more memory than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings:
    """Limits hold for each statement; ``workers`` statements run at a time in each server process."""

    output_location: str
    """``s3://BUCKET/PREFIX/`` of results when a request names none: the workgroup's configuration."""
    account: str = DEFAULT_ACCOUNT
    """Whose statements these are: a process that ran one of them runs no other account's."""
    region: str = DEFAULT_REGION
    workers: int = 2
    queue: int = 100
    threads: int = 2
    memory_bytes: int = 1 << 30
    spill_bytes: int = 4 << 30
    result_bytes: int = 4 << 30
    timeout_seconds: float = 1_800.0
    max_files: int = 100_000
    poll_seconds: float = 0.2
    """How often running statements are looked up for a stop asked for in another process."""
    heartbeat_seconds: float = 2.0
    dead_after_seconds: float = 20.0
    """A process that has not said for so long that it lives has lost its statements."""

"""How much a statement may use, and where its result goes by default."""

from dataclasses import dataclass

from penstock.names import DEFAULT_ACCOUNT, DEFAULT_REGION

__all__ = ["QuerySettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySettings:
    """Limits hold for each statement; ``workers`` statements run at a time in each server process."""

    output_location: str
    """``s3://BUCKET/PREFIX/`` of results if a request does not name one: the workgroup's configuration."""
    account: str = DEFAULT_ACCOUNT
    """The account of these statements: a process that ran one of them runs no other account's statements."""
    region: str = DEFAULT_REGION
    workers: int = 2
    queue: int = 100
    threads: int = 2
    memory_bytes: int = 1 << 30
    spill_bytes: int = 4 << 30
    result_bytes: int = 4 << 30
    written_bytes: int = 64 << 30
    """The most bytes of data files that CTAS, INSERT or UNLOAD writes."""
    target_file_bytes: int = 128 << 20
    """The size at which a data file is complete and the next one begins."""
    max_written_partitions: int = 100
    """The most partitions that one statement writes, Athena's limit."""
    timeout_seconds: float = 1_800.0
    max_files: int = 100_000
    poll_seconds: float = 0.2
    """How often the store is checked for stops requested in another process, in seconds."""
    heartbeat_seconds: float = 2.0
    dead_after_seconds: float = 10.0
    """A process without a heartbeat for this long (seconds) has lost its statements."""

"""``python -m benchmarks.unsynced``: ``penstock`` that acknowledges what is not on the disk yet, to compare with.

As it was before: SQLite's level NORMAL, files renamed without a sync.
"""

from typing import Any

from sqlalchemy import Engine, event

from penstock import durable
from penstock.cli.main import main

__all__ = ["forget_to_sync"]


def forget_to_sync() -> None:
    """Make every commit of this process's stores, and every file of :mod:`penstock.durable`, one that is not synced."""

    def lower(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(Engine, "connect", lower)
    vars(durable)["sync_file"] = lambda _descriptor: None


if __name__ == "__main__":
    forget_to_sync()
    main()

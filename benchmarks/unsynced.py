"""``python -m benchmarks.unsynced``: a ``penstock`` that acknowledges writes before they are synced, for comparison.

SQLite's level is NORMAL, and files are renamed without a sync.
"""

from typing import Any

from sqlalchemy import Engine, event

from penstock import durable
from penstock.cli.main import main

__all__ = ["forget_to_sync"]


def forget_to_sync() -> None:
    """Switch off the syncs of this process's stores and of :mod:`penstock.durable`."""

    def lower(connection: Any, _record: Any) -> None:
        connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(Engine, "connect", lower)
    vars(durable)["sync_file"] = lambda _descriptor: None


if __name__ == "__main__":
    forget_to_sync()
    main()

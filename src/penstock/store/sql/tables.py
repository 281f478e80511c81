"""Every table of the store, registered: what migrations are compared with."""

import penstock.store.sql.access  # noqa: F401
from penstock.store.sql.database import metadata

__all__ = ["metadata"]

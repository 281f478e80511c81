"""The first release, from which later migrations start.

A new database gets its tables from their definitions instead (penstock.store.sql.tables), and never runs a migration; see
penstock.store.sql.migrate. A migration changes a database of the release before to what those definitions make.
"""

from collections.abc import Sequence

revision: str = "0018"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Nothing: every database that migrates has these tables."""

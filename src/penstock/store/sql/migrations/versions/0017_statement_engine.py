"""The engine that a statement's work group selected."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("statements", sa.Column("engine", sa.String(length=64), nullable=False, server_default="AUTO"))


def downgrade() -> None:
    op.drop_column("statements", "engine")

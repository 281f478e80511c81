"""Subjects that stand for others."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("policies", sa.Column("alias", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("policies", "alias")

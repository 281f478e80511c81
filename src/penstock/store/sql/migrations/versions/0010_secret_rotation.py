"""The function that rotates a secret."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("secrets", sa.Column("rotation", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("secrets", "rotation")

"""The resource policies of secrets."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("secrets", sa.Column("policy", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("secrets", "policy")

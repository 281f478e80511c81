"""Which statements' results may stand for each other, and how old one may be."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("statements", sa.Column("reuse_minutes", sa.Integer(), nullable=True))
    op.add_column("statements", sa.Column("digest", sa.String(64), nullable=True))
    op.create_index("ix_statements_digest_number", "statements", ["digest", "number"])


def downgrade() -> None:
    op.drop_index("ix_statements_digest_number", table_name="statements")
    op.drop_column("statements", "digest")
    op.drop_column("statements", "reuse_minutes")

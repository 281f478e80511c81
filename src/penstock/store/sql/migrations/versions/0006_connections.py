"""Glue's connections."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "catalog_connection",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("body_sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_catalog_connection")),
    )


def downgrade() -> None:
    op.drop_table("catalog_connection")

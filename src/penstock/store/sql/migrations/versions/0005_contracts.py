"""Versions with a contract: what Confluent calls a schema's metadata."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("schema_versions", sa.Column("contract", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("schema_versions", "contract")

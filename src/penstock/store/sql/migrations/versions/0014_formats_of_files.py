"""The formats of the files that crawlers have read; those before were all Parquet."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("crawl_file", sa.Column("format", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("crawl_file", "format")

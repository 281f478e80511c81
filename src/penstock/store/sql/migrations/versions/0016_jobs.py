"""Jobs, runs, triggers, workflows, bookmarks, security configurations and sessions."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "job_entry",
        sa.Column("kind", sa.String(length=24), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("scope", sa.String(length=400), nullable=False),
        sa.Column("rank", sa.String(length=500), nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key", name=op.f("pk_job_entry")),
    )
    op.create_index("ix_job_entry_scope", "job_entry", ["kind", "scope", "rank"])
    op.create_index("ix_job_entry_active", "job_entry", ["active", "kind"])


def downgrade() -> None:
    op.drop_table("job_entry")

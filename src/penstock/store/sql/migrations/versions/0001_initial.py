"""The first schema."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "access_keys",
        sa.Column("access_key_id", sa.String(length=128), nullable=False),
        sa.Column("secret_sealed", sa.LargeBinary(), nullable=False),
        sa.Column("account", sa.String(length=12), nullable=False),
        sa.Column("principal", sa.String(length=2048), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("access_key_id", name=op.f("pk_access_keys")),
    )
    op.create_index(op.f("ix_access_keys_account"), "access_keys", ["account"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_access_keys_account"), table_name="access_keys")
    op.drop_table("access_keys")

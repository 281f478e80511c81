"""Accounts, users, roles and managed policies; keys that can be switched off and know their owner."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_table(
        "iam_entities",
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("account", sa.String(length=12), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "account", "key", name=op.f("pk_iam_entities")),
    )
    op.add_column("access_keys", sa.Column("active", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("access_keys", sa.Column("owner_id", sa.String(length=128), nullable=False, server_default=""))
    # The one kind of key there was: what the server was started with, which is the root's from now on.
    op.get_bind().exec_driver_sql(
        "UPDATE access_keys SET principal = 'arn:aws:iam::' || account || ':root'"
        " WHERE principal = 'arn:aws:iam::' || account || ':user/penstock'"
    )


def downgrade() -> None:
    op.get_bind().exec_driver_sql(
        "UPDATE access_keys SET principal = 'arn:aws:iam::' || account || ':user/penstock'"
        " WHERE principal = 'arn:aws:iam::' || account || ':root'"
    )
    op.drop_column("access_keys", "owner_id")
    op.drop_column("access_keys", "active")
    op.drop_table("iam_entities")
    op.drop_table("accounts")

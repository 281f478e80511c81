"""Functions of databases, partition indexes of tables, column statistics of tables and partitions."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OWNERS: dict[str, tuple[str, Any]] = {
    "catalog_database": ("name", sa.String(length=255)),
    "catalog_table": ("id", _ID),
    "catalog_partition": ("id", _ID),
}


def upgrade() -> None:
    for owner, (key, kind) in _OWNERS.items():
        name = f"{owner}_detail"
        op.create_table(
            name,
            sa.Column("owner", kind, nullable=False),
            sa.Column("kind", sa.String(length=16), nullable=False),
            sa.Column("name", sa.String(length=255), nullable=False),
            sa.Column("body", sa.Text(), nullable=False),
            sa.ForeignKeyConstraint(
                ["owner"], [f"{owner}.{key}"], name=op.f(f"fk_{name}_owner_{owner}"), ondelete="CASCADE"
            ),
            sa.PrimaryKeyConstraint("owner", "kind", "name", name=op.f(f"pk_{name}")),
        )


def downgrade() -> None:
    for owner in reversed(_OWNERS):
        op.drop_table(f"{owner}_detail")

"""How statements' results are stored, and indexes for what work groups and their history ask."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("statements", sa.Column("options", sa.Text(), server_default="{}", nullable=False))
    op.add_column("statements", sa.Column("managed", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index("ix_statements_completed", "statements", ["completed"])
    op.create_index("ix_athena_resource_scope", "athena_resource", ["scope"])
    op.create_index("ix_athena_resource_key", "athena_resource", ["key"])


def downgrade() -> None:
    op.drop_index("ix_athena_resource_key", "athena_resource")
    op.drop_index("ix_athena_resource_scope", "athena_resource")
    op.drop_index("ix_statements_completed", "statements")
    op.drop_column("statements", "managed")
    op.drop_column("statements", "options")

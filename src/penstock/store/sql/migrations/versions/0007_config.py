"""What a subject's configuration says beside its level."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_COLUMNS = (
    ("validate_fields", sa.Integer()),
    ("compatibility_policy", sa.String(16)),
    ("compatibility_group", sa.Text()),
    ("default_metadata", sa.Text()),
    ("override_metadata", sa.Text()),
)


def upgrade() -> None:
    for name, kind in _COLUMNS:
        op.add_column("policies", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    for name, _ in _COLUMNS:
        op.drop_column("policies", name)

"""The index of partitions by value: the values of each partition key, and the partitions that have them."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from penstock.store.sql.catalog.partition_index import add_keys

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_VALUES, _POSTINGS = "catalog_partition_value", "catalog_partition_posting"
_BATCH = 5_000


def upgrade() -> None:
    op.create_table(
        _VALUES,
        sa.Column("id", _ID, nullable=False),
        sa.Column("table_id", _ID, nullable=False),
        sa.Column("position", sa.SmallInteger(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("sort", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["table_id"], ["catalog_table.id"], name=op.f(f"fk_{_VALUES}_table_id_catalog_table"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{_VALUES}")),
    )
    op.create_index(f"ix_{_VALUES}_value", _VALUES, ["table_id", "position", "value"], unique=True)
    op.create_index(f"ix_{_VALUES}_sort", _VALUES, ["table_id", "position", "kind", "sort"])
    op.create_table(
        _POSTINGS,
        sa.Column("value_id", _ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["value_id"], [f"{_VALUES}.id"], name=op.f(f"fk_{_POSTINGS}_value_id_{_VALUES}"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("value_id", "key", name=op.f(f"pk_{_POSTINGS}")),
        sqlite_with_rowid=False,
    )
    _fill(op.get_bind())


def _fill(connection: sa.Connection) -> None:
    """Index the partitions that the store has."""
    rows = sa.table("catalog_partition", sa.column("table_id"), sa.column("key"))
    last: tuple[int, str] | None = None
    while True:
        query = sa.select(rows.c.table_id, rows.c.key).order_by(rows.c.table_id, rows.c.key).limit(_BATCH)
        if last is not None:
            query = query.where(sa.tuple_(rows.c.table_id, rows.c.key) > sa.tuple_(*last))
        found = connection.execute(query).all()
        for table_id in dict.fromkeys(row.table_id for row in found):
            add_keys(connection, table_id, [row.key for row in found if row.table_id == table_id])
        if len(found) < _BATCH:
            return
        last = (found[-1].table_id, found[-1].key)


def downgrade() -> None:
    op.drop_table(_POSTINGS)
    op.drop_table(_VALUES)

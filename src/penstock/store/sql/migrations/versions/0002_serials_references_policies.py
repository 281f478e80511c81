"""Serials, references, soft deletion, policies, audit."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    _create_tables()
    op.add_column("schema_versions", sa.Column("serial", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("schema_versions", sa.Column("refers_to", sa.Text(), nullable=True))
    op.add_column("schema_versions", sa.Column("deleted", sa.BigInteger(), nullable=True))
    _give_serials()
    op.create_index("ix_schema_versions_serial", "schema_versions", ["serial"], unique=False)


def _create_tables() -> None:
    op.create_table(
        "schema_serials",
        sa.Column("registry", sa.String(length=255), nullable=False),
        sa.Column("serial", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("data_format", sa.String(length=16), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["registry"], ["registries.name"], name=op.f("fk_schema_serials_registry"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("registry", "serial", name=op.f("pk_schema_serials")),
        sa.UniqueConstraint(
            "registry", "data_format", "fingerprint", name=op.f("uq_schema_serials_registry_data_format_fingerprint")
        ),
    )
    op.create_table(
        "serial_counter",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_serial_counter")),
    )
    op.create_table(
        "policies",
        sa.Column("scope", sa.String(length=600), nullable=False),
        sa.Column("compatibility", sa.String(length=16), nullable=True),
        sa.Column("mode", sa.String(length=32), nullable=True),
        sa.Column("normalize", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_policies")),
    )
    op.create_table(
        "resource_policies",
        sa.Column("resource", sa.String(length=600), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("resource", name=op.f("pk_resource_policies")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("principal", sa.String(length=2048), nullable=False),
        sa.Column("client", sa.String(length=255), nullable=False),
        sa.Column("operation", sa.String(length=64), nullable=False),
        sa.Column("resource", sa.String(length=2048), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_resource_id", "audit", ["resource", "id"], unique=False)
    op.create_table(
        "schema_references",
        sa.Column("version_id", sa.String(length=36), nullable=False),
        sa.Column("target_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(["target_id"], ["schema_versions.id"], name=op.f("fk_schema_references_target_id")),
        sa.ForeignKeyConstraint(
            ["version_id"], ["schema_versions.id"], name=op.f("fk_schema_references_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("version_id", "target_id", name=op.f("pk_schema_references")),
    )
    op.create_index(op.f("ix_schema_references_target_id"), "schema_references", ["target_id"], unique=False)


def _give_serials() -> None:
    """One serial a registry, format and fingerprint, in the order in which they were first registered."""
    connection = op.get_bind()
    connection.execute(
        sa.text(
            "INSERT INTO schema_serials (registry, serial, data_format, fingerprint)"
            " SELECT registry, ROW_NUMBER() OVER (ORDER BY first, registry, data_format, fingerprint),"
            " data_format, fingerprint FROM ("
            "SELECT s.registry AS registry, s.data_format AS data_format, v.fingerprint AS fingerprint,"
            " MIN(v.created) AS first"
            " FROM schema_versions v JOIN schemas s ON v.schema_id = s.id"
            " GROUP BY s.registry, s.data_format, v.fingerprint) AS known"
        )
    )
    connection.execute(
        sa.text(
            "UPDATE schema_versions SET serial = (SELECT g.serial FROM schema_serials g"
            " JOIN schemas s ON s.registry = g.registry AND s.data_format = g.data_format"
            " WHERE s.id = schema_versions.schema_id AND g.fingerprint = schema_versions.fingerprint)"
        )
    )
    connection.execute(
        sa.text("INSERT INTO serial_counter (id, number) SELECT 1, COALESCE(MAX(serial), 0) FROM schema_serials")
    )
    connection.execute(
        sa.text(
            "INSERT INTO registry_epoch (id, number)"
            " SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM registry_epoch WHERE id = 1)"
        )
    )


def downgrade() -> None:
    op.drop_index("ix_schema_versions_serial", table_name="schema_versions")
    # A table that others refer to is never made anew on SQLite: dropping the old one would delete their rows.
    for column in ("deleted", "refers_to", "serial"):
        op.drop_column("schema_versions", column)
    op.execute("UPDATE schemas SET compatibility = 'BACKWARD' WHERE compatibility = ''")
    op.drop_index(op.f("ix_schema_references_target_id"), table_name="schema_references")
    op.drop_table("schema_references")
    op.drop_index("ix_audit_resource_id", table_name="audit")
    op.drop_table("audit")
    op.drop_table("resource_policies")
    op.drop_table("policies")
    op.drop_table("serial_counter")
    op.drop_table("schema_serials")

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
    op.create_table(
        "catalog_database",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_catalog_database")),
    )
    op.create_table(
        "crawl_crawler",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_crawl_crawler")),
    )
    op.create_table(
        "registries",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_registries")),
    )
    op.create_table(
        "registry_epoch",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_registry_epoch")),
    )
    op.create_table(
        "registry_tags",
        sa.Column("resource", sa.String(length=600), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("value", sa.String(length=256), nullable=False),
        sa.PrimaryKeyConstraint("resource", "key", name=op.f("pk_registry_tags")),
    )
    op.create_table(
        "secrets",
        sa.Column("arn", sa.String(length=2048), nullable=False),
        sa.Column("account", sa.String(length=12), nullable=False),
        sa.Column("name", sa.String(length=512), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("kms_key_id", sa.String(length=2048), nullable=True),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("changed", sa.DateTime(), nullable=False),
        sa.Column("accessed", sa.DateTime(), nullable=True),
        sa.Column("deletion", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("arn", name=op.f("pk_secrets")),
        sa.UniqueConstraint("account", "name", name=op.f("uq_secrets_account_name")),
    )
    op.create_table(
        "statements",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("sql", sa.Text(), nullable=False),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("substatement", sa.String(length=64), nullable=True),
        sa.Column("catalog", sa.String(length=256), nullable=False),
        sa.Column("database", sa.String(length=255), nullable=True),
        sa.Column("workgroup", sa.String(length=128), nullable=False),
        sa.Column("output_location", sa.Text(), nullable=False),
        sa.Column("result_uri", sa.Text(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("token", sa.String(length=128), nullable=True),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("submitted", sa.BigInteger(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("completed", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("statistics", sa.Text(), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=False),
        sa.Column("heartbeat", sa.BigInteger(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_statements")),
        sa.UniqueConstraint("id", name=op.f("uq_statements_id")),
        sa.UniqueConstraint("token", name=op.f("uq_statements_token")),
    )
    op.create_index("ix_statements_state", "statements", ["state"], unique=False)
    op.create_index("ix_statements_workgroup_number", "statements", ["workgroup", "number"], unique=False)
    op.create_table(
        "catalog_table",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("database", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["database"], ["catalog_database.name"], name=op.f("fk_catalog_table_database"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_catalog_table")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_catalog_table_database_name", "catalog_table", ["database", "name"], unique=True)
    op.create_table(
        "crawl_file",
        sa.Column("crawler", sa.String(length=255), nullable=False),
        sa.Column("uri", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["crawler"], ["crawl_crawler.name"], name=op.f("fk_crawl_file_crawler"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("crawler", "uri", name=op.f("pk_crawl_file")),
    )
    op.create_table(
        "schemas",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("registry", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("data_format", sa.String(length=16), nullable=False),
        sa.Column("compatibility", sa.String(length=16), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("checkpoint", sa.Integer(), nullable=False),
        sa.Column("latest", sa.Integer(), nullable=True),
        sa.Column("next_number", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("updated", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["registry"], ["registries.name"], name=op.f("fk_schemas_registry"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schemas")),
        sa.UniqueConstraint("registry", "name", name=op.f("uq_schemas_registry_name")),
    )
    op.create_table(
        "secret_versions",
        sa.Column("arn", sa.String(length=2048), nullable=False),
        sa.Column("version_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
        sa.Column("is_text", sa.Integer(), nullable=False),
        sa.Column("value_sealed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["arn"], ["secrets.arn"], name=op.f("fk_secret_versions_arn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("arn", "version_id", name=op.f("pk_secret_versions")),
    )
    op.create_table(
        "catalog_partition",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("table_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("shared", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["table_id"], ["catalog_table.id"], name=op.f("fk_catalog_partition_table_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_catalog_partition")),
    )
    op.create_index("ix_catalog_partition_table_id_key", "catalog_partition", ["table_id", "key"], unique=True)
    op.create_table(
        "catalog_table_version",
        sa.Column("table_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["table_id"], ["catalog_table.id"], name=op.f("fk_catalog_table_version_table_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("table_id", "version", name=op.f("pk_catalog_table_version")),
    )
    op.create_table(
        "schema_versions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("schema_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["schema_id"], ["schemas.id"], name=op.f("fk_schema_versions_schema_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schema_versions")),
        sa.UniqueConstraint("schema_id", "fingerprint", name=op.f("uq_schema_versions_schema_id_fingerprint")),
        sa.UniqueConstraint("schema_id", "number", name=op.f("uq_schema_versions_schema_id_number")),
    )
    op.create_table(
        "schema_metadata",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("version_id", sa.String(length=36), nullable=False),
        sa.Column("key", sa.String(length=128), nullable=False),
        sa.Column("value", sa.String(length=256), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"], ["schema_versions.id"], name=op.f("fk_schema_metadata_version_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schema_metadata")),
        sa.UniqueConstraint("version_id", "key", "value", name=op.f("uq_schema_metadata_version_id_key_value")),
    )


def downgrade() -> None:
    op.drop_table("schema_metadata")
    op.drop_table("schema_versions")
    op.drop_table("catalog_table_version")
    op.drop_index("ix_catalog_partition_table_id_key", table_name="catalog_partition")
    op.drop_table("catalog_partition")
    op.drop_table("secret_versions")
    op.drop_table("schemas")
    op.drop_table("crawl_file")
    op.drop_index("ix_catalog_table_database_name", table_name="catalog_table")
    op.drop_table("catalog_table")
    op.drop_index("ix_statements_workgroup_number", table_name="statements")
    op.drop_index("ix_statements_state", table_name="statements")
    op.drop_table("statements")
    op.drop_table("secrets")
    op.drop_table("registry_tags")
    op.drop_table("registry_epoch")
    op.drop_table("registries")
    op.drop_table("crawl_crawler")
    op.drop_table("catalog_database")
    op.drop_index(op.f("ix_access_keys_account"), table_name="access_keys")
    op.drop_table("access_keys")

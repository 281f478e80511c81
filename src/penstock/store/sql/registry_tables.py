"""Tables of the registry. Times are microseconds since the epoch, which every backend compares and stores alike."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, String, Table, Text, UniqueConstraint

from penstock.store.sql.database import metadata

__all__ = ["registries", "registry_epoch", "registry_tags", "schema_metadata", "schema_versions", "schemas"]

_ROW_ID = BigInteger().with_variant(Integer, "sqlite")

registries = Table(
    "registries",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("description", Text),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
)

schemas = Table(
    "schemas",
    metadata,
    Column("id", _ROW_ID, primary_key=True, autoincrement=True),
    Column("registry", String(255), ForeignKey("registries.name", ondelete="CASCADE"), nullable=False),
    Column("name", String(255), nullable=False),
    Column("data_format", String(16), nullable=False),
    Column("compatibility", String(16), nullable=False),
    Column("description", Text),
    Column("checkpoint", Integer, nullable=False),
    Column("latest", Integer),
    Column("next_number", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    UniqueConstraint("registry", "name"),
)

schema_versions = Table(
    "schema_versions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("schema_id", _ROW_ID, ForeignKey("schemas.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("definition", Text, nullable=False),
    Column("verdict", Text),
    Column("created", BigInteger, nullable=False),
    UniqueConstraint("schema_id", "number"),
    UniqueConstraint("schema_id", "fingerprint"),
)

schema_metadata = Table(
    "schema_metadata",
    metadata,
    Column("id", _ROW_ID, primary_key=True, autoincrement=True),
    Column("version_id", String(36), ForeignKey("schema_versions.id", ondelete="CASCADE"), nullable=False),
    Column("key", String(128), nullable=False),
    Column("value", String(256), nullable=False),
    Column("created", BigInteger, nullable=False),
    UniqueConstraint("version_id", "key", "value"),
)

registry_tags = Table(
    "registry_tags",
    metadata,
    Column("resource", String(600), primary_key=True),
    Column("key", String(128), primary_key=True),
    Column("value", String(256), nullable=False),
)

# One row whose number grows with every deletion: what tells other processes that their cached versions may be gone.
registry_epoch = Table(
    "registry_epoch",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
)

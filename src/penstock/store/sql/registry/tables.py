"""Tables of the registry."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    insert,
)

from penstock.store.sql.database import metadata

__all__ = [
    "registries",
    "registry_epoch",
    "registry_tags",
    "resource_policies",
    "schema_id_counter",
    "schema_ids",
    "schema_metadata",
    "schema_references",
    "schema_versions",
    "schemas",
    "scope_configs",
]

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
    Column("registry", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("data_format", String(16), nullable=False),
    # Empty where it is inherited.
    Column("compatibility", String(16), nullable=False),
    Column("description", Text),
    Column("checkpoint", Integer, nullable=False),
    Column("latest", Integer),
    Column("next_number", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
    ForeignKeyConstraint(["registry"], ["registries.name"], ondelete="CASCADE"),
    UniqueConstraint("registry", "name"),
)

schema_versions = Table(
    "schema_versions",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("schema_id", _ROW_ID, nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("definition", Text, nullable=False),
    Column("verdict", Text),
    Column("created", BigInteger, nullable=False),
    Column("serial", BigInteger, nullable=False, server_default="0"),
    # JSON, read with the version; schema_references has the same for the way back.
    Column("refers_to", Text),
    Column("deleted", BigInteger),
    Column("contract", Text),
    ForeignKeyConstraint(["schema_id"], ["schemas.id"], ondelete="CASCADE"),
    UniqueConstraint("schema_id", "fingerprint"),
    UniqueConstraint("schema_id", "number"),
    Index("ix_schema_versions_serial", "serial"),
)

# Every definition of a registry has one schema id, also when all versions with it are gone. Columns named serial hold schema
# ids; schema_versions.schema_id is the row of its schema.
schema_ids = Table(
    "schema_serials",
    metadata,
    Column("registry", String(255), primary_key=True),
    Column("serial", BigInteger, primary_key=True, autoincrement=False),
    Column("data_format", String(16), nullable=False),
    Column("fingerprint", String(64), nullable=False),
    ForeignKeyConstraint(["registry"], ["registries.name"], ondelete="CASCADE"),
    UniqueConstraint("registry", "data_format", "fingerprint"),
)

# One row: the highest schema id given in any registry.
schema_id_counter = Table(
    "serial_counter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
)

schema_references = Table(
    "schema_references",
    metadata,
    Column("version_id", String(36), primary_key=True),
    Column("target_id", String(36), primary_key=True, index=True),
    ForeignKeyConstraint(["target_id"], ["schema_versions.id"]),
    ForeignKeyConstraint(["version_id"], ["schema_versions.id"], ondelete="CASCADE"),
)

schema_metadata = Table(
    "schema_metadata",
    metadata,
    Column("id", _ROW_ID, primary_key=True, autoincrement=True),
    Column("version_id", String(36), nullable=False),
    Column("key", String(128), nullable=False),
    Column("value", String(256), nullable=False),
    Column("created", BigInteger, nullable=False),
    ForeignKeyConstraint(["version_id"], ["schema_versions.id"], ondelete="CASCADE"),
    UniqueConstraint("version_id", "key", "value"),
)

registry_tags = Table(
    "registry_tags",
    metadata,
    Column("resource", String(600), primary_key=True),
    Column("key", String(128), primary_key=True),
    Column("value", String(256), nullable=False),
)

scope_configs = Table(
    "policies",
    metadata,
    Column("scope", String(600), primary_key=True),
    Column("compatibility", String(16)),
    Column("mode", String(32)),
    Column("normalize", Integer),
    Column("alias", Text),
    Column("validate_fields", Integer),
    Column("compatibility_policy", String(16)),
    Column("compatibility_group", Text),
    Column("default_metadata", Text),
    Column("override_metadata", Text),
)

resource_policies = Table(
    "resource_policies",
    metadata,
    Column("resource", String(600), primary_key=True),
    Column("policy", Text, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("updated", BigInteger, nullable=False),
)

# One row, whose number grows with every deletion, so that other processes notice that cached versions may be deleted.
registry_epoch = Table(
    "registry_epoch",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
)


def _insert_first(table: Table, connection: Connection, **_: object) -> None:
    connection.execute(insert(table).values(id=1, number=0))


# The rows that writers count with are there from the start: two first writers would both insert them.
for _counter in (schema_id_counter, registry_epoch):
    event.listen(_counter, "after_create", _insert_first)

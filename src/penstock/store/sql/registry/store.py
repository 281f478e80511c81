"""The registry's store over SQL: a read is one indexed lookup, a write one transaction that checks its preconditions."""

from collections.abc import Mapping

from sqlalchemy import func, select

from penstock.store.sql.audit import SqlAuditTrail
from penstock.store.sql.database import Database
from penstock.store.sql.registry.base import RegistryDatabase
from penstock.store.sql.registry.deletion import SqlDeletion
from penstock.store.sql.registry.ids import SqlSchemaIds
from penstock.store.sql.registry.metadata import SqlMetadata, SqlTags
from penstock.store.sql.registry.policies import SqlConfigs, SqlResourcePolicies
from penstock.store.sql.registry.registries import SqlRegistries
from penstock.store.sql.registry.schemas import SqlSchemas
from penstock.store.sql.registry.tables import schema_versions, schemas
from penstock.store.sql.registry.versions import SqlVersions

__all__ = ["SqlRegistryStore", "count_versions"]


class SqlRegistryStore:
    """:class:`penstock.registry.store.RegistryStore` over an SQL database; safe to share between threads."""

    def __init__(self, database: Database) -> None:
        shared = RegistryDatabase(database)
        self.schema_ids = SqlSchemaIds(shared)
        self.versions = SqlVersions(shared, self.schema_ids)
        self.deletion = SqlDeletion(shared)
        self.registries = SqlRegistries(shared)
        self.schemas = SqlSchemas(shared, self.versions)
        self.configs = SqlConfigs(shared)
        self.resource_policies = SqlResourcePolicies(shared)
        self.metadata = SqlMetadata(shared)
        self.tags = SqlTags(shared)
        self.audit = SqlAuditTrail(database)


def count_versions(database: Database) -> Mapping[tuple[str, bool], int]:
    """Return the number of versions by format (``AVRO``, ``JSON``, ``PROTOBUF``) and whether they are soft-deleted."""
    gone = schema_versions.c.deleted.is_not(None)
    query = select(schemas.c.data_format, gone, func.count()).select_from(schema_versions).join(schemas)
    with database.read() as reader:
        rows = reader.execute(query.group_by(schemas.c.data_format, gone)).all()
    return {(str(data_format), bool(deleted)): int(number) for data_format, deleted, number in rows}

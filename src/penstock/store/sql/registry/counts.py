"""How many schema versions a registry has, for its metrics."""

from collections.abc import Mapping

from sqlalchemy import func, select

from penstock.store.sql.database import Database
from penstock.store.sql.registry.tables import schema_versions, schemas

__all__ = ["count_versions"]


def count_versions(database: Database) -> Mapping[tuple[str, bool], int]:
    """Return the number of versions by format (``AVRO``, ``JSON``, ``PROTOBUF``) and whether they are soft-deleted."""
    gone = schema_versions.c.deleted.is_not(None)
    query = select(schemas.c.data_format, gone, func.count()).select_from(schema_versions).join(schemas)
    with database.read() as reader:
        rows = reader.execute(query.group_by(schemas.c.data_format, gone)).all()
    return {(str(data_format), bool(deleted)): int(number) for data_format, deleted, number in rows}

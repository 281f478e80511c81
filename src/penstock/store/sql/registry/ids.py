"""Schema ids (Confluent's global ids) in SQL: assigned to definitions, or taken from imports; and the versions with one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select

from penstock.registry.errors import SchemaIdDiffers, SchemaIdTaken
from penstock.registry.model import Version, VersionHead
from penstock.store.sql.direct import DirectTransaction
from penstock.store.sql.registry.base import RegistryDatabase
from penstock.store.sql.registry.rows import to_head
from penstock.store.sql.registry.statements import HEAD, JOINED
from penstock.store.sql.registry.tables import schema_ids, schema_versions, schemas

__all__ = ["SqlSchemaIds"]


class _Content(NamedTuple):
    """A definition in a registry, which has one schema id."""

    registry: str
    data_format: str
    fingerprint: str

    def parameters(self) -> dict[str, str]:
        """Return the parameters of a query."""
        return {"r_registry": self.registry, "r_format": self.data_format, "r_fingerprint": self.fingerprint}


class SqlSchemaIds:
    """:class:`penstock.registry.store.SchemaIdStore`, and the assignment of schema ids to versions."""

    def __init__(self, shared: RegistryDatabase) -> None:
        self._database = shared.database
        self._statements = shared.statements
        self._cache = shared.cache

    def get_version(self, registry: str, schema_id: int) -> Version | None:
        parameters = {"r_registry": registry, "r_schema_id": schema_id}
        return self._cache.read(("schema id", registry, schema_id, ""), self._statements.by_schema_id, parameters)

    def list_versions(self, registry: str | None, schema_id: int) -> Sequence[VersionHead]:
        query = select(*HEAD).select_from(JOINED).where(schema_versions.c.serial == schema_id)
        if registry is not None:
            query = query.where(schemas.c.registry == registry)
        query = query.order_by(schemas.c.registry, schemas.c.name, schema_versions.c.number)
        with self._database.read() as connection:
            return [to_head(row) for row in connection.execute(query).mappings()]

    def highest(self, registry: str) -> int:
        query = select(func.max(schema_ids.c.serial)).where(schema_ids.c.registry == registry)
        with self._database.read() as connection:
            return connection.execute(query).scalar() or 0

    def assign(self, transaction: DirectTransaction, versions: Sequence[Version]) -> Sequence[int]:
        """Return the schema ids of the versions' definitions in their registries, assigned now if they have none.

        A version that comes with one, from an import, must be alone.
        """
        if len(versions) == 1 and versions[0].schema_id:
            return [self._take_over(transaction, versions[0])]
        contents = [_Content(version.key.registry, version.data_format, version.fingerprint) for version in versions]
        ids = {content: self._assigned(transaction, content) for content in dict.fromkeys(contents)}
        new = [content for content, schema_id in ids.items() if schema_id is None]
        if new:
            row = transaction.run(self._statements.next_schema_ids, {"r_count": len(new)})
            first = 0 if row is None else row["number"] - len(new) + 1
            ids.update(zip(new, range(first, first + len(new)), strict=True))
            if not self._database.is_sqlite:
                # Writers wait for each other on that row: the second one reads what the first one stored.
                stored = {content: self._assigned(transaction, content) for content in new}
                ids |= {content: schema_id for content, schema_id in stored.items() if schema_id is not None}
                new = [content for content, schema_id in stored.items() if schema_id is None]
            self._keep(transaction, {content: ids[content] or 0 for content in new})
        return [ids[content] or 0 for content in contents]

    def _take_over(self, transaction: DirectTransaction, version: Version) -> int:
        """Return the schema id that an import gives; :class:`SchemaIdTaken` if a stored version conflicts with it."""
        statements, registry, schema_id = self._statements, version.key.registry, version.schema_id
        content = _Content(registry, version.data_format, version.fingerprint)
        assigned = self._assigned(transaction, content)
        parameters = {"r_registry": registry, "r_schema_id": schema_id}
        if assigned == schema_id:
            return schema_id
        # Imports queue here with each other and with writers that need a new schema id.
        transaction.run(statements.raise_schema_ids, {"r_schema_id": schema_id})
        if assigned is not None:
            if transaction.run(statements.carrier_of, {"r_registry": registry, "r_schema_id": assigned}) is not None:
                raise SchemaIdDiffers(registry, schema_id, assigned)
            transaction.run(statements.forget_content, content.parameters())
        if transaction.run(statements.holder_of, parameters) is not None:
            if transaction.run(statements.carrier_of, parameters) is not None:
                raise SchemaIdTaken(registry, schema_id)
            transaction.run(statements.drop_schema_id, parameters)
        self._keep(transaction, {content: schema_id})
        return schema_id

    def _assigned(self, transaction: DirectTransaction, content: _Content) -> int | None:
        row = transaction.run(self._statements.schema_id_of, content.parameters())
        return None if row is None else row["serial"]

    def _keep(self, transaction: DirectTransaction, schema_ids_of: Mapping[_Content, int]) -> None:
        rows = [{**content._asdict(), "serial": schema_id} for content, schema_id in schema_ids_of.items()]
        transaction.run_all(self._statements.add_schema_id, rows)

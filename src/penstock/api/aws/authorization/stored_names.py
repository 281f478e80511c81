"""Lookups of stored names in one account, for decisions on requests."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from penstock.access.entities import EntityKind, Principal
from penstock.access.keys import AccessStore
from penstock.api.tenants import Tenant
from penstock.caching import SharedCache
from penstock.errors import NotFound
from penstock.registry.model import SchemaKey

__all__ = ["StoredNames"]

T = TypeVar("T")
_CACHE_SECONDS = 5.0
_MAX_CACHED = 10_000
_PAGE = 1_000


class StoredNames:
    """Looks up stored names of one account, for the ARNs of requests. A version's schema is cached for 5 seconds."""

    def __init__(
        self,
        account: str,
        tenant: Tenant | None,
        store: AccessStore,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._account = account
        self.tenant = tenant
        self._store = store
        self._work_groups: SharedCache[str, str] = SharedCache(_MAX_CACHED, seconds=_CACHE_SECONDS, clock=clock)
        self._schemas: SharedCache[str, SchemaKey] = SharedCache(_MAX_CACHED, seconds=_CACHE_SECONDS, clock=clock)

    def schema_of_version(self, version_id: str) -> SchemaKey | None:
        cached = self._schemas.peek(version_id)
        if cached is not None:
            return cached
        return self._read(lambda tenant: self._schemas.load(version_id, lambda: tenant.schemas.versions.get(version_id).key))

    def secret_arn(self, secret_id: str) -> str | None:
        return self._read(lambda tenant: tenant.secrets.describe(self._account, secret_id).arn)

    def tables_of(self, database: str) -> Sequence[str]:
        return self._read(lambda tenant: [table.name for table in tenant.tables.tables(database)]) or ()

    def schemas_of(self, registry: str) -> Sequence[str]:
        return self._read(lambda tenant: list(_schema_names(tenant, registry))) or ()

    def work_group_of(self, any_id: str) -> str | None:
        group = self._work_groups.peek(any_id)
        if group is None and self.tenant is not None:
            group = self.tenant.work_group_of(any_id)
            if group is not None:
                # It never changes, and clients that wait for a statement ask again and again.
                self._work_groups.load(any_id, lambda: group)
        return group

    def crawled_database(self, crawler: str) -> str | None:
        return self._read(lambda tenant: tenant.crawls.get(crawler).database)

    def entity_arn(self, entity_type: str, name: str) -> str | None:
        entity = self._store.get_entity(EntityKind(entity_type), self._account, name)
        return None if entity is None else entity.arn

    def boundary_of(self, entity_type: str, name: str) -> str | None:
        entity = self._store.get_entity(EntityKind(entity_type), self._account, name)
        return entity.boundary if isinstance(entity, Principal) else None

    def _read(self, read: Callable[[Tenant], T]) -> T | None:
        """Return what ``read`` returns; None if there is no tenant, or nothing of the name."""
        if self.tenant is None:
            return None
        try:
            return read(self.tenant)
        except NotFound:
            return None


def _schema_names(tenant: Tenant, registry: str) -> Iterator[str]:
    token: str | None = None
    while True:
        page = tenant.schemas.schemas.list(registry, token=token, size=_PAGE)
        yield from (schema.key.name for schema in page.items)
        token = page.next_token
        if token is None:
            return

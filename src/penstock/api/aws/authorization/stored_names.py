"""Lookups of stored names in one account, for decisions on requests."""

import time
from collections.abc import Callable, Sequence

from penstock.access.entities import EntityKind, Principal
from penstock.access.keys import AccessStore
from penstock.api.tenants import Tenant
from penstock.caching import SharedCache
from penstock.errors import NotFound
from penstock.registry.model import SchemaKey

__all__ = ["StoredNames"]

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
        known = self._schemas.peek(version_id)
        tenant = self.tenant
        if known is not None or tenant is None:
            return known
        try:
            return self._schemas.load(version_id, lambda: tenant.schemas.versions.get(version_id).key)
        except NotFound:
            return None

    def secret_arn(self, secret_id: str) -> str | None:
        if self.tenant is None:
            return None
        try:
            return self.tenant.secrets.describe(self._account, secret_id).arn
        except NotFound:
            return None

    def tables_of(self, database: str) -> Sequence[str]:
        if self.tenant is None:
            return ()
        try:
            return [table.name for table in self.tenant.tables.tables(database)]
        except NotFound:
            return ()

    def schemas_of(self, registry: str) -> Sequence[str]:
        if self.tenant is None:
            return ()
        schemas = self.tenant.schemas.schemas
        names: list[str] = []
        token: str | None = None
        try:
            while True:
                page = schemas.list(registry, token=token, size=_PAGE)
                names.extend(schema.key.name for schema in page.items)
                token = page.next_token
                if token is None:
                    return names
        except NotFound:
            return ()

    def work_group_of(self, any_id: str) -> str | None:
        known = self._work_groups.peek(any_id)
        if known is None and self.tenant is not None:
            known = self.tenant.work_group_of(any_id)
            if known is not None:
                # It never changes, and clients that wait for a statement ask again and again.
                self._work_groups.load(any_id, lambda: known)
        return known

    def crawled_database(self, crawler: str) -> str | None:
        if self.tenant is None:
            return None
        try:
            return self.tenant.crawls.get(crawler).database
        except NotFound:
            return None

    def entity_arn(self, entity_type: str, name: str) -> str | None:
        entity = self._store.get_entity(EntityKind(entity_type), self._account, name)
        return None if entity is None else entity.arn

    def boundary_of(self, entity_type: str, name: str) -> str | None:
        entity = self._store.get_entity(EntityKind(entity_type), self._account, name)
        return entity.boundary if isinstance(entity, Principal) else None

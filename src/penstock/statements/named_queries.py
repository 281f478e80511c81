"""Named queries: SQL that a work group's users saved.

Source: Athena API reference, "CreateNamedQuery" and its neighbours. A name may be taken by several; the id is unique.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.paging import Page, page
from penstock.statements.errors import InvalidResource, UnknownName
from penstock.statements.resources import ResourceKind, ResourceStore

__all__ = ["MAX_NAMED_QUERIES", "NAMED_QUERIES", "NamedQueries", "NamedQuery"]

MAX_NAMED_QUERIES = 10_000
"""In a work group; a bound of ours."""
_NAMESPACE = uuid.UUID("7b0e0f0e-3d0c-4c8e-9f2c-6f3f6a2d7e11")  # any fixed one: ids of requests with a token


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """One named query."""

    id: str
    name: str
    work_group: str
    database: str
    sql: str
    description: str | None = None

    @property
    def scope(self) -> str:
        """The work group's name."""
        return self.work_group

    @property
    def key(self) -> str:
        """The id."""
        return self.id


def _load(members: Mapping[str, Any]) -> NamedQuery:
    return NamedQuery(**members)


NAMED_QUERIES = ResourceKind("named query", _load)


class NamedQueries:
    """The named queries of one account. Callers check that the work group exists."""

    def __init__(self, store: ResourceStore, new_id: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._store = store
        self._new_id = new_id

    def create(
        self,
        work_group: str,
        name: str,
        database: str,
        sql: str,
        *,
        description: str | None = None,
        token: str | None = None,
    ) -> str:
        """Store a named query and return its id; a ``token`` that was used for the same query returns that one's.

        Raises :class:`InvalidResource` if it was used for another query, and :class:`penstock.errors.LimitExceeded` for
        more than :data:`MAX_NAMED_QUERIES` in a work group.
        """
        query_id = self._new_id() if token is None else str(uuid.uuid5(_NAMESPACE, token))
        query = NamedQuery(
            id=query_id, name=name, work_group=work_group, database=database, sql=sql, description=description
        )
        if not self._store.add(NAMED_QUERIES, query, limit=MAX_NAMED_QUERIES) and self.get(query_id) != query:
            raise InvalidResource(
                "Idempotent parameters do not match", remedy="Use a new ClientRequestToken for another query."
            )
        return query_id

    def get(self, query_id: str) -> NamedQuery:
        """Return one named query. Raises :class:`UnknownName`."""
        queries = self.get_many([query_id])
        if not queries:
            raise UnknownName(f"NamedQuery {query_id} was not found")
        return queries[0]

    def get_many(self, ids: Sequence[str]) -> Sequence[NamedQuery]:
        """Return those of ``ids`` that exist, in the order of ``ids``."""
        return self._store.get_many(NAMED_QUERIES, None, ids)

    def list(self, work_group: str, *, limit: int, token: str | None = None) -> Page[NamedQuery]:
        """Return a page of the work group's named queries, by id. Raises :class:`penstock.paging.InvalidToken`."""
        return page(
            f"named:{work_group}",
            token,
            limit,
            lambda after, count: self._store.list(NAMED_QUERIES, work_group, after=after, limit=count),
            lambda named_query: named_query.id,
            kind=str,
        )

    def update(self, query_id: str, *, name: str, sql: str, description: str | None) -> None:
        """Replace name, SQL and description; None keeps the description. Raises :class:`UnknownName`."""

        def changed(old: NamedQuery) -> NamedQuery:
            return replace(old, name=name, sql=sql, description=old.description if description is None else description)

        if self._store.change(NAMED_QUERIES, self.get(query_id).work_group, query_id, changed) is None:
            raise UnknownName(f"NamedQuery {query_id} was not found")

    def delete(self, query_id: str) -> None:
        """Delete one named query. Raises :class:`UnknownName`."""
        if not self._store.delete(NAMED_QUERIES, self.get(query_id).work_group, query_id):
            raise UnknownName(f"NamedQuery {query_id} was not found")

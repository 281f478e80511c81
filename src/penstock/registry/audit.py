"""Who changed what, when, from where: the actor of a change, and the record that the store keeps of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from penstock.paging import Page, decode_token, encode_token, page

__all__ = ["MAX_AUDIT_ENTRIES", "Actor", "AuditEntry", "AuditLog", "AuditTrail", "acting", "current_actor"]

MAX_AUDIT_ENTRIES = 1_000_000
"""Most entries that the store keeps; older ones are deleted."""

_BATCH = 500
_MAX_BATCHES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who sent a request, as its signature proved, and the client's network address; ``-`` if it is not known."""

    principal: str = "-"
    client: str = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change. ``resource`` is ``registry/NAME`` or ``schema/REGISTRY/NAME``; ``outcome`` is the result."""

    number: int
    time: datetime
    principal: str
    client: str
    operation: str
    resource: str
    outcome: str


_NOBODY = Actor()
_ACTOR: ContextVar[Actor] = ContextVar("penstock_actor", default=_NOBODY)


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Record changes inside the block as those of ``actor``, in this thread or task only."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)


def current_actor() -> Actor:
    """Return the actor of the current thread or task."""
    return _ACTOR.get()


class AuditTrail(Protocol):
    """The part of a store that reads the audit log; each change is recorded in the transaction that makes it."""

    def list(self, before: int | None, count: int, *, resource: str | None) -> Sequence[AuditEntry]:
        """Up to ``count`` entries numbered below ``before``, the newest first, of one resource or of all."""


class AuditLog:
    """Pages of the audit log."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    def list(self, *, resource: str | None = None, token: str | None = None, size: int = 100) -> Page[AuditEntry]:
        """Return a page of changes, the newest first; with ``resource`` only those of that registry or schema."""

        def read(before: int | None, count: int) -> Sequence[AuditEntry]:
            return self._trail.list(before, count, resource=resource)

        return page(f"audit:{resource or ''}", token, size, read, lambda entry: entry.number, kind=int)

    def search(
        self,
        matches: Callable[[AuditEntry], bool],
        *,
        listing: str,
        resource: str | None = None,
        since: datetime | None = None,
        token: str | None = None,
        size: int = 50,
    ) -> Page[AuditEntry]:
        """Return a page of the changes that ``matches`` selects, the newest first, none older than ``since``.

        ``listing`` identifies the search in page tokens. A page reads 10,000 changes at most: like CloudTrail's, it may hold
        few or none and still have a token.
        """
        before = decode_token(listing, token, int)
        entries: list[AuditEntry] = []
        for _ in range(_MAX_BATCHES):
            batch = self._trail.list(before, _BATCH, resource=resource)
            for entry in batch:
                if since is not None and entry.time < since:
                    return Page(items=entries)
                before = entry.number
                if matches(entry):
                    entries.append(entry)
                if len(entries) == size:
                    return Page(items=entries, next_token=encode_token(listing, before))
            if len(batch) < _BATCH:
                return Page(items=entries)
        return Page(items=entries, next_token=None if before is None else encode_token(listing, before))

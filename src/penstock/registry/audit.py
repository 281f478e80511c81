"""Who changed what, when, from where: the actor of a change, and the record that the store keeps of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from penstock.paging import Page, page

__all__ = ["MAX_AUDIT_ENTRIES", "Actor", "AuditEntry", "AuditLog", "AuditTrail", "acting", "current_actor"]

MAX_AUDIT_ENTRIES = 1_000_000
"""Older entries go when there are more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who asks, as the signature proved it, and the client's network address; ``-`` where it is not known."""

    principal: str = "-"
    client: str = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change. ``resource`` is ``registry/NAME`` or ``schema/REGISTRY/NAME``; ``outcome`` what came of it."""

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
    """Changes within are recorded as those of ``actor``; holds for this thread or task alone."""
    token = _ACTOR.set(actor)
    try:
        yield
    finally:
        _ACTOR.reset(token)


def current_actor() -> Actor:
    """The actor of what runs now."""
    return _ACTOR.get()


class AuditTrail(Protocol):
    """The part of a store that reads what it recorded; each change is recorded in the transaction that makes it."""

    def list_audit(self, before: int | None, count: int, *, resource: str | None) -> Sequence[AuditEntry]:
        """Up to ``count`` entries numbered below ``before``, the newest first, of one resource or of all."""


class AuditLog:
    """Pages of the record."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    def list(self, *, resource: str | None = None, token: str | None = None, size: int = 100) -> Page[AuditEntry]:
        """A page of changes, the newest first; ``resource`` keeps those of a registry or schema alone."""

        def read(before: int | None, count: int) -> Sequence[AuditEntry]:
            return self._trail.list_audit(before, count, resource=resource)

        return page(f"audit:{resource or ''}", token, size, read, lambda entry: entry.number, kind=int)

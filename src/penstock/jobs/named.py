"""What entries of an account that have a name share: jobs, triggers, workflows, security configurations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from penstock.jobs.errors import EntryExists, EntryNotFound
from penstock.jobs.store import JobStore, Kind
from penstock.paging import Page, page
from penstock.tags import changed_tags, check_tags

__all__ = ["NamedEntries", "NamedEntry", "TaggedEntries", "TaggedEntry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntry:
    """:class:`penstock.jobs.store.Entry` by its name, which is never active."""

    name: str

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def scope(self) -> str:
        """It belongs to the account."""
        return ""

    @property
    def rank(self) -> str:
        """By name."""
        return self.name

    @property
    def active(self) -> bool:
        """Always False: nothing is left to do for it."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedEntry(NamedEntry):
    """A named entry with tags."""

    tags: Mapping[str, str] = field(default_factory=dict)


N = TypeVar("N", bound=NamedEntry)
T = TypeVar("T", bound=TaggedEntry)


class NamedEntries(Generic[N]):
    """The entries of one kind; ``noun`` is what messages call one of them, ``quota`` how many an account may have.

    Source of the quotas: AWS General Reference, "AWS Glue endpoints and quotas".
    """

    def __init__(self, store: JobStore, kind: Kind[N], noun: str, *, quota: int) -> None:
        self._store = store
        self._kind = kind
        self._noun = noun
        self._quota = quota

    def get(self, name: str) -> N:
        """Return one entry. Raises :class:`EntryNotFound`."""
        entry = self._store.get(self._kind, name)
        if entry is None:
            raise EntryNotFound(self._noun, name)
        return entry

    def page(self, *, limit: int, token: str | None = None) -> Page[N]:
        """Return up to ``limit`` entries by name."""

        def read(after: str | None, count: int) -> Sequence[N]:
            return self._store.list(self._kind, "", after=after, limit=count)

        return page(f"{self._noun}s", token, limit, read, lambda named_entry: named_entry.name, kind=str)

    def _add(self, entry: N) -> None:
        if not self._store.add(self._kind, entry, limit=self._quota):
            raise EntryExists(self._noun, entry.name)

    def _change(self, name: str, change: Callable[[N], N]) -> N:
        changed = self._store.change(self._kind, name, change)
        if changed is None:
            raise EntryNotFound(self._noun, name)
        return changed


class TaggedEntries(NamedEntries[T]):
    """Named entries with tags."""

    def tags(self, name: str) -> Mapping[str, str]:
        """Return an entry's tags. Raises :class:`EntryNotFound`."""
        return self.get(name).tags

    def change_tags(self, name: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove some. Raises :class:`EntryNotFound`, :class:`LimitExceeded`."""
        check_tags(add or {})
        self._change(name, lambda entry: replace(entry, tags=changed_tags(entry.tags, add or {}, remove)))

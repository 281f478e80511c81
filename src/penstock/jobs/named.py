"""What entries of an account share: jobs, triggers, workflows, security configurations, sessions, bookmarks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from penstock.jobs.errors import EntryExists, EntryNotFound
from penstock.jobs.store import JobStore, Kind
from penstock.paging import Page, page
from penstock.tags import changed_tags, check_tags

__all__ = ["AccountEntries", "AccountEntry", "NamedEntry", "Tagged", "TaggedEntries", "TaggedEntry"]


class AccountEntry(ABC):
    """:class:`penstock.jobs.store.Entry` that belongs to the account, in the order of its key, and is never active."""

    __slots__ = ()

    @property
    @abstractmethod
    def key(self) -> str:
        """What it is found by."""

    @property
    def scope(self) -> str:
        """It belongs to the account."""
        return ""

    @property
    def rank(self) -> str:
        """By key."""
        return self.key

    @property
    def active(self) -> bool:
        """Always False: nothing is left to do for it."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntry(AccountEntry):
    """An entry by its name."""

    name: str

    @property
    def key(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(AccountEntry):
    """An entry with tags."""

    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedEntry(Tagged):
    """A named entry with tags."""

    name: str

    @property
    def key(self) -> str:
        """The name."""
        return self.name


N = TypeVar("N", bound=AccountEntry)
T = TypeVar("T", bound=Tagged)


class AccountEntries(Generic[N]):
    """The entries of one kind; ``noun`` is what messages call one of them, ``quota`` how many an account may have.

    Source of the quotas: AWS General Reference, "AWS Glue endpoints and quotas".
    """

    def __init__(self, store: JobStore, kind: Kind[N], noun: str, *, quota: int | None = None) -> None:
        self._store = store
        self._kind = kind
        self._noun = noun
        self._quota = quota

    def get(self, key: str) -> N:
        """Return one entry. Raises :class:`EntryNotFound`."""
        entry = self._store.get(self._kind, key)
        if entry is None:
            raise EntryNotFound(self._noun, key)
        return entry

    def page(self, *, limit: int, token: str | None = None) -> Page[N]:
        """Return up to ``limit`` entries by key."""

        def read(after: str | None, count: int) -> Sequence[N]:
            return self._store.list(self._kind, "", after=after, limit=count)

        return page(f"{self._noun}s", token, limit, read, lambda entry: entry.key, kind=str)

    def _add(self, entry: N) -> None:
        if not self._store.add(self._kind, entry, limit=self._quota):
            raise EntryExists(self._noun, entry.key)

    def _change(self, key: str, change: Callable[[N], N]) -> N:
        changed = self._store.change(self._kind, key, change)
        if changed is None:
            raise EntryNotFound(self._noun, key)
        return changed


class TaggedEntries(AccountEntries[T]):
    """Entries with tags."""

    def tags(self, key: str) -> Mapping[str, str]:
        """Return an entry's tags. Raises :class:`EntryNotFound`."""
        return self.get(key).tags

    def change_tags(self, key: str, *, add: Mapping[str, str] | None = None, remove: Sequence[str] = ()) -> None:
        """Add or replace tags, then remove some. Raises :class:`EntryNotFound`, :class:`LimitExceeded`."""
        check_tags(add or {})
        self._change(key, lambda entry: replace(entry, tags=changed_tags(entry.tags, add or {}, remove)))

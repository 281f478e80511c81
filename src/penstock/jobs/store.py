"""The port that stores everything about jobs: entries of several kinds, each call one transaction."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["Entry", "JobStore", "Kind", "all_entries"]

_PAGE = 100


class Entry(Protocol):
    """A frozen dataclass of JSON's types and times in UTC."""

    @property
    def key(self) -> str:
        """Its name or id, unique among entries of its kind; up to 400 characters."""
        ...

    @property
    def scope(self) -> str:
        """What it is listed under: the job of a run, empty for an entry of the account."""
        ...

    @property
    def rank(self) -> str:
        """Its position in lists, unique within its scope."""
        ...

    @property
    def active(self) -> bool:
        """Whether something is still to be done for it."""
        ...


T = TypeVar("T", bound=Entry)
P = TypeVar("P", bound=Entry)


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of entries: its name in the store, and its class."""

    name: str
    entry: type[T]

    def load(self, document: Mapping[str, Any]) -> T:
        """Return the entry of a JSON document; members of a newer release are left out."""
        members: dict[str, Any] = {}
        for field in fields(self.entry):  # type: ignore[arg-type]
            if field.name in document:
                value = document[field.name]
                if value is not None and "datetime" in str(field.type):
                    value = datetime.fromisoformat(value)
                members[field.name] = _frozen(value) if isinstance(value, list) else value
        return self.entry(**members)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class JobStore(Protocol):
    """Entries by kind and key."""

    def add(self, kind: Kind[T], entry: T, *, limit: int | None = None) -> bool:
        """Add an entry; return False, and change nothing, if the key is taken.

        Raises :class:`penstock.jobs.errors.TooManyEntries` for a new one if its scope has ``limit`` entries already.
        """
        ...

    def add_under(
        self, parent: Kind[P], key: str, kind: Kind[T], make: Callable[[P, Sequence[T]], T]
    ) -> tuple[T, bool] | None:
        """Add the entry that ``make`` returns for the parent ``key`` and its active entries of ``kind``.

        No other caller adds under the same parent meanwhile. Returns the entry, and whether it is new: one whose key is
        taken is the stored one. Returns None if there is no such parent. Errors of ``make`` are raised.
        """
        ...

    def get(self, kind: Kind[T], key: str) -> T | None:
        """Return the entry, or None."""
        ...

    def list(self, kind: Kind[T], scope: str, *, after: str | None, limit: int, newest_first: bool = False) -> Sequence[T]:
        """Return up to ``limit`` entries of a scope in the order of their ranks, those behind the rank ``after``."""
        ...

    def active(self, kind: Kind[T]) -> Sequence[T]:
        """Return the active entries of all scopes, in the order of their ranks."""
        ...

    def change(self, kind: Kind[T], key: str, change: Callable[[T], T]) -> T | None:
        """Replace the entry by ``change`` of it and return that; None if there is none.

        No other caller changes it meanwhile. ``change`` keeps key and scope. If it raises, nothing changes.
        """
        ...

    def delete(self, kind: Kind[T], key: str) -> bool:
        """Delete the entry; return False if there is none."""
        ...

    def delete_scope(self, kind: Kind[T], scope: str) -> None:
        """Delete all entries of a scope."""
        ...


def all_entries(store: JobStore, kind: Kind[T], scope: str = "") -> Iterator[T]:
    """Yield all entries of a scope in the order of their ranks, read in pages."""
    after: str | None = None
    while True:
        page = store.list(kind, scope, after=after, limit=_PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].rank

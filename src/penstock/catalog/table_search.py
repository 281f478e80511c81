"""SearchTables: which tables match a search, and their order.

Source: SearchTables and PropertyPredicate in the Glue API reference. Text matches anywhere in a table's metadata; text in
double quotes matches a whole value. A filter compares the words of a property, split at punctuation, or times.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.catalog.model import Table
from penstock.errors import InvalidInput

__all__ = ["Predicate", "TableSearch"]

_COMPARATORS: Mapping[str, Callable[[datetime, datetime], bool]] = {
    "EQUALS": operator.eq,
    "GREATER_THAN": operator.gt,
    "LESS_THAN": operator.lt,
    "GREATER_THAN_EQUALS": operator.ge,
    "LESS_THAN_EQUALS": operator.le,
}
_TEXTS: Mapping[str, Callable[[Table], str | None]] = {
    "name": lambda table: table.name,
    "databasename": lambda table: table.database,
    "description": lambda table: table.description,
    "owner": lambda table: table.owner,
    "tabletype": lambda table: table.table_type,
    "location": lambda table: table.storage.location,
}
_TIMES: Mapping[str, Callable[[Table], datetime | None]] = {
    "createtime": lambda table: table.create_time,
    "updatetime": lambda table: table.update_time,
    "lastaccesstime": lambda table: table.last_access_time,
}
_WORDS = re.compile(r"[^\w]+")
_EPOCH = re.compile(r"\d{1,11}(\.\d{1,6})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicate:
    """A property (such as ``Name``, ``CreateTime`` or a key of the table's parameters), a value and how to compare them."""

    key: str
    value: str
    comparator: str = "EQUALS"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSearch:
    """A search; ``sort_by`` names a property. By default, tables are sorted by the names of database and table."""

    text: str | None = None
    predicates: Sequence[Predicate] = ()
    sort_by: str | None = None
    descending: bool = False

    def compile(self) -> Callable[[Table], bool]:
        """Return a test for whether a table matches. Raises :class:`InvalidInput` for an invalid time."""
        tests = [_test(predicate) for predicate in self.predicates]
        if self.text:
            tests.append(_text_test(self.text))
        return lambda table: all(test(table) for test in tests)

    def order(self, table: Table) -> tuple[str, str, str]:
        """Return the table's sort key: the property's text, then database and name, so that no two are equal."""
        return (self._sort_text(table), table.database, table.name)

    def _sort_text(self, table: Table) -> str:
        if self.sort_by is None:
            return ""
        name = self.sort_by.lower()
        if name in _TIMES:
            time = _TIMES[name](table)
            return time.astimezone(UTC).isoformat(timespec="microseconds") if time else ""
        if name in _TEXTS:
            return (_TEXTS[name](table) or "").lower()
        raise InvalidInput(
            f"Tables cannot be sorted by '{self.sort_by[:100]}'.",
            remedy="Sort by Name, DatabaseName, Description, Owner, TableType, Location or one of the times.",
        )


def _test(predicate: Predicate) -> Callable[[Table], bool]:
    name, word = predicate.key.lower(), predicate.value.lower()
    if name in _TIMES:
        time_of, limit, compare = _TIMES[name], _time(predicate), _COMPARATORS[predicate.comparator]

        def in_time(table: Table) -> bool:
            time = time_of(table)
            return time is not None and compare(time, limit)

        return in_time

    def has_word(table: Table) -> bool:
        text = (
            _TEXTS[name](table)
            if name in _TEXTS
            else table.parameters.get(predicate.key) or table.storage.parameters.get(predicate.key)
        )
        lower = (text or "").lower()
        return lower == word or word in _WORDS.split(lower)

    return has_word


def _time(predicate: Predicate) -> datetime:
    try:
        if _EPOCH.fullmatch(predicate.value):
            return datetime.fromtimestamp(float(predicate.value), UTC)
        time = datetime.fromisoformat(predicate.value)
    except ValueError:
        raise InvalidInput(
            f"'{predicate.value[:100]}' is not a time to compare {predicate.key} with.",
            remedy="Write it as 2026-01-31T12:00:00Z, or as seconds since 1970.",
        ) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _text_test(text: str) -> Callable[[Table], bool]:
    words = text.lower()
    if len(words) > 2 and words[0] == words[-1] == '"':
        exact = words[1:-1]
        return lambda table: any(exact == value.lower() for value in _values(table))
    return lambda table: any(words in value.lower() for value in _values(table))


def _values(table: Table) -> Iterator[str]:
    for text in (_TEXTS[name](table) for name in _TEXTS):
        if text:
            yield text
    for mapping in (table.parameters, table.storage.parameters):
        yield from mapping.keys()
        yield from mapping.values()
    for column in (*table.storage.columns, *table.partition_keys):
        yield column.name
        if column.comment:
            yield column.comment

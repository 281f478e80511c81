"""One compaction of a table at a time: a lease in the table's parameters, taken by compare-and-set on its version.

Glue's UpdateTable takes a version id (https://docs.aws.amazon.com/glue/latest/webapi/API_UpdateTable.html): of two that
read the same version, one is refused.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.errors import ConcurrentModification, NotFound
from penstock.owners import Ownership
from penstock.spark.tables.catalog import CatalogCalls

__all__ = ["LEASE", "TableLease", "table_lease"]

LEASE = "penstock.compaction"
"""The parameter of the table that has the lease: JSON of ``owner`` (host, process, unique part) and ``since``."""

_LASTS = timedelta(hours=1)
_TRIES = 5


@dataclass(frozen=True, slots=True)
class _Holder:
    """Who has the lease, as the table's parameter says."""

    owner: str
    heartbeat: datetime


class TableLease:
    """A lease that this process has. :meth:`check` renews it; another process takes it if that stays away for an hour."""

    def __init__(
        self, catalog: CatalogCalls, name: tuple[str, str], table_input: Callable[[Any], Any], ownership: Ownership
    ) -> None:
        self._catalog = catalog
        self._name = name
        self._table_input = table_input
        self._ownership = ownership
        self._since = datetime.min.replace(tzinfo=UTC)

    def check(self) -> None:
        """Take or renew the lease. Raises :class:`ConcurrentModification` if another process has it."""
        now = datetime.now(UTC)
        if now - self._since < _LASTS / 4:
            return
        self._change(json.dumps({"owner": self._ownership.name, "since": now.isoformat()}))
        self._since = now

    def release(self) -> None:
        """Give the lease back, if it is still this process's."""
        self._change(None)

    def _change(self, value: str | None) -> None:
        database, name = self._name
        for _ in range(_TRIES):
            table = self._catalog.table(database, name)
            parameters = dict(table.get("Parameters", {}))
            lease = parameters.pop(LEASE, None)
            if lease is not None:
                self._check_owner(lease)
            if value is not None:
                parameters[LEASE] = value
            elif lease is None:
                return
            changed = {**self._table_input(table), "Parameters": parameters}
            try:
                self._catalog.update_table(database, changed, version_id=table.get("VersionId"), skip_archive=True)
            except ConcurrentModification:
                continue
            return
        raise ConcurrentModification(f"Table {database}.{name} is changed by others too often.", remedy="Try again later.")

    def _check_owner(self, text: str) -> None:
        try:
            lease = json.loads(text)
            holder = _Holder(str(lease["owner"]), datetime.fromisoformat(lease["since"]))
        except (ValueError, KeyError, TypeError):
            return
        if not self._ownership.owns(holder) and not self._ownership.is_orphan(holder, since=holder.heartbeat):
            who = f"{holder.owner.rpartition(':')[0]} since {holder.heartbeat:%Y-%m-%d %H:%M} UTC"
            raise ConcurrentModification(
                f"Table {'.'.join(self._name)} is being compacted by {who}.",
                remedy="Wait for it. If that process has ended on another host, its lease ends an hour after that time.",
            )


@contextmanager
def table_lease(
    catalog: CatalogCalls, database: str, name: str, *, table_input: Callable[[Any], Any]
) -> Iterator[TableLease]:
    """Hold the lease of a table during the block. Raises :class:`ConcurrentModification` if another process has it."""
    ownership = Ownership(dead_after=_LASTS)
    lease = TableLease(catalog, (database, name), table_input, ownership)
    try:
        lease.check()
        try:
            yield lease
        finally:
            with suppress(NotFound, ConcurrentModification):  # the table is gone, or another process has the lease
                lease.release()
    finally:
        ownership.close()

"""A cache of parsed resource policies, for policy evaluation."""

import logging
import time
from collections.abc import Callable, Mapping

from penstock.access.policies.documents import Kind, Policy, parsed_policy
from penstock.access.policies.errors import MalformedPolicy
from penstock.caching import SharedCache
from penstock.registry.store import ResourcePolicyStore

__all__ = ["CATALOG", "PolicyCache"]

CATALOG = "catalog"
"""The resource whose policy applies to everything in the account."""

_log = logging.getLogger("penstock.registry")
_PAGE = 500
_ALL = "all"


class PolicyCache:
    """The policies of one account's catalog, registries and schemas, read again after ``ttl`` seconds.

    A change that this process makes applies at once (:meth:`forget`).
    """

    def __init__(self, store: ResourcePolicyStore, *, ttl: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        # One value: a schema's policies can depend on all of them.
        self._kept: SharedCache[str, Mapping[str, Policy]] = SharedCache(1, seconds=ttl, clock=clock)

    def forget(self) -> None:
        """Read all policies again, after a change."""
        self._kept.clear()

    @property
    def is_fresh(self) -> bool:
        """Whether :meth:`of` answers without reading the store."""
        return self._kept.peek(_ALL) is not None

    def of(self, resource: str) -> Policy | None:
        """Return the policies of ``schema/REGISTRY/NAME`` or another resource: its own, its registry's, the catalog's."""
        policies = self._policies()
        if not policies:
            return None
        kind, _, rest = resource.partition("/")
        names = [CATALOG]
        if kind == "schema":
            names.append(f"registry/{rest.partition('/')[0]}")
        if kind in ("registry", "schema"):
            names.append(resource)
        statements = [statement for name in names if name in policies for statement in policies[name].statements]
        return Policy(statements=tuple(statements)) if statements else None

    def _policies(self) -> Mapping[str, Policy]:
        kept = self._kept.peek(_ALL)
        return self._kept.load(_ALL, self._read) if kept is None else kept

    def _read(self) -> Mapping[str, Policy]:
        found: dict[str, Policy] = {}
        after: str | None = None
        while True:
            rows = self._store.list(after, _PAGE)
            for row in rows:
                try:
                    found[row.resource] = parsed_policy(row.text, Kind.RESOURCE)
                except MalformedPolicy as error:
                    # Stored by an earlier release that did not evaluate it; a policy that cannot be read allows nothing.
                    _log.warning("the resource policy of %s is left out: %s", row.resource, error)
            if len(rows) < _PAGE:
                return found
            after = rows[-1].resource

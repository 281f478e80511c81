"""The tenants of one process: registry, catalog, crawlers, statements and secrets over each account's own database."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from penstock.api.aws.protocol.operations import AnyHandler, OperationSet
from penstock.api.tenants import Tenant

if TYPE_CHECKING:
    from penstock.server.jobs import TenantJobs

__all__ = ["ServedTenant", "ServedTenants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTenant(Tenant):
    """A tenant with its AWS operations. ``recover`` fails work of a dead server; ``close`` ends its services."""

    operations: Sequence[OperationSet]
    recover: Callable[[], None]
    close: Callable[[], None]
    jobs: "TenantJobs"


class ServedTenants:
    """The tenants of this process: the first one from the start, each other one from the first request for it."""

    def __init__(self, first: ServedTenant, *, known: Callable[[str], bool], start: Callable[[str], ServedTenant]) -> None:
        self.first = first
        self._known = known
        self._start = start
        self._running: dict[str, ServedTenant] = {first.account: first}
        self._handlers: dict[str, Mapping[tuple[str, str], AnyHandler]] = {first.account: _handlers(first)}
        self._lock = Lock()
        self._closed = False

    def running(self, account: str) -> ServedTenant | None:
        """Return the tenant if its services run already. Reads no store."""
        return self._running.get(account)

    def get(self, account: str) -> ServedTenant | None:
        """Return the tenant, after starting its services if needed; None for an unknown account. Reads the store."""
        tenant = self._running.get(account)
        if tenant is not None or not self._known(account):
            return tenant
        with self._lock:
            tenant = self._running.get(account)
            if tenant is None and not self._closed:
                tenant = self._start(account)
                self._handlers[account] = _handlers(tenant)
                self._running[account] = tenant
        return tenant

    def handler(self, account: str, service: str, operation: str) -> AnyHandler:
        """Return the handler of a running tenant."""
        return self._handlers[account][service, operation]

    @property
    def closed(self) -> bool:
        """Whether no tenants are started any more."""
        return self._closed

    def close(self) -> None:
        """Close the running tenants, and start no more."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for tenant in running:
            tenant.close()


def _handlers(tenant: ServedTenant) -> Mapping[tuple[str, str], AnyHandler]:
    return {(each.service, name): handler for each in tenant.operations for name, handler in each.handlers.items()}

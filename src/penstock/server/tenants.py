"""The tenants of one process: registry, catalog, crawlers, statements and secrets over each account's own database."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from penstock.api.aws.protocol.operations import AnyHandler, OperationSet
from penstock.api.tenants import Tenant
from penstock.server.jobs import TenantJobs

__all__ = ["ServedTenant", "ServedTenants"]

_log = logging.getLogger("penstock.server")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTenant(Tenant):
    """A tenant with its AWS operations.

    ``recover`` fails work of a dead server, ``begin`` begins the work in the background, ``wake`` does what is due of it,
    ``close`` ends the services.
    """

    operations: Sequence[OperationSet]
    recover: Callable[[], None]
    begin: Callable[[], None]
    wake: Callable[[], None]
    close: Callable[[], None]
    jobs: TenantJobs


class ServedTenants:
    """The tenants of this process: the first one from :meth:`open` on, each other one from the first request for it.

    ``exists`` tells whether an account exists.
    """

    first: ServedTenant

    def __init__(self, exists: Callable[[str], bool]) -> None:
        self._exists = exists
        self._start: Callable[[str], ServedTenant] | None = None
        self._running: dict[str, ServedTenant] = {}
        self._handlers: dict[str, Mapping[tuple[str, str], AnyHandler]] = {}
        self._lock = Lock()
        self._working = False
        self._closed = False

    def open(self, first: ServedTenant, start: Callable[[str], ServedTenant]) -> None:
        """Serve ``first``, and every other account by the services that ``start`` makes for it."""
        self.first = first
        self._start = start
        self._running[first.account] = first
        self._handlers[first.account] = _handlers(first)

    def running(self, account: str) -> ServedTenant | None:
        """Return the tenant if its services run already. Reads no store."""
        return self._running.get(account)

    def get(self, account: str) -> ServedTenant | None:
        """Return the tenant, after starting its services if needed; None for an unknown account. Reads the store."""
        tenant = self._running.get(account)
        if tenant is not None or not self._exists(account):
            return tenant
        with self._lock:
            tenant = self._running.get(account)
            if tenant is None and self._start is not None and not self._closed:
                tenant = self._start(account)
                if self._working:
                    self._begin(tenant)
                self._handlers[account] = _handlers(tenant)
                self._running[account] = tenant
        return tenant

    def handler(self, account: str, service: str, operation: str) -> AnyHandler:
        """Return the handler of a running tenant."""
        return self._handlers[account][service, operation]

    def begin(self) -> None:
        """Do the work in the background of the running tenants, and of each that is started later."""
        with self._lock:
            self._working = True
            running = list(self._running.values())
        for tenant in running:
            self._begin(tenant)

    def attend(self, accounts: Iterable[str]) -> None:
        """Do now what is due for these accounts, by the services of each: schedules, runs, what dead servers left."""
        for account in accounts:
            try:
                tenant = self.get(account)
                if tenant is not None:
                    tenant.recover()
                    tenant.wake()
            except Exception:  # noqa: BLE001 - one account must not keep the others from their work
                self._complain(account)

    def _begin(self, tenant: ServedTenant) -> None:
        try:
            tenant.recover()
        except Exception:  # noqa: BLE001 - the store may be unavailable for a moment
            self._complain(tenant.account)
        tenant.begin()

    def _complain(self, account: str) -> None:
        if not self._closed:
            _log.exception("the work of account %s could not be done", account)

    def close(self) -> None:
        """Close the running tenants, and start no more."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for tenant in running:
            tenant.close()


def _handlers(tenant: ServedTenant) -> Mapping[tuple[str, str], AnyHandler]:
    return {
        (operation.service, name): handler for operation in tenant.operations for name, handler in operation.handlers.items()
    }

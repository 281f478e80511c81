"""What each account has of its own: a registry, a catalog, crawlers, statements and secrets over a database of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from penstock.api.aws.protocol.operations import Handler, OperationSet
from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService

__all__ = ["Tenant", "Tenants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One account's services. ``recover`` marks what a dead server left running; ``close`` ends what runs here."""

    account: str
    schemas: RegistryService
    secrets: SecretsService
    tables: CatalogService
    crawls: CrawlService
    operations: Sequence[OperationSet]
    recover: Callable[[], None]
    close: Callable[[], None]


class Tenants:
    """The accounts of this process: the first one from the start, the others when somebody first asks for them."""

    def __init__(self, first: Tenant, *, known: Callable[[str], bool], start: Callable[[str], Tenant]) -> None:
        self.first = first
        self._known = known
        self._start = start
        self._running: dict[str, Tenant] = {first.account: first}
        self._handlers: dict[str, Mapping[tuple[str, str], Handler]] = {first.account: _handlers(first)}
        self._lock = Lock()
        self._closed = False

    def running(self, account: str) -> Tenant | None:
        """The account's services where they run already; reads nothing."""
        return self._running.get(account)

    def get(self, account: str) -> Tenant | None:
        """The account's services, started where need be; None where there is no such account. Reads the store."""
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

    def handler(self, account: str, service: str, operation: str) -> Handler:
        """The handler of a running account."""
        return self._handlers[account][service, operation]

    def close(self) -> None:
        """End what runs, and start no more."""
        with self._lock:
            self._closed = True
            running = list(self._running.values())
        for tenant in running:
            tenant.close()


def _handlers(tenant: Tenant) -> Mapping[tuple[str, str], Handler]:
    return {(each.service, name): handler for each in tenant.operations for name, handler in each.handlers.items()}

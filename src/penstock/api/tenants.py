"""A tenant is one account of the server with services of its own, which all APIs answer from."""

from dataclasses import dataclass
from typing import Protocol

from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService

__all__ = ["Tenant", "Tenants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """The services of one account that requests name resources of."""

    account: str
    schemas: RegistryService
    secrets: SecretsService
    tables: CatalogService
    crawls: CrawlService


class Tenants(Protocol):
    """The tenants of the server, by account."""

    @property
    def first(self) -> Tenant: ...

    def running(self, account: str) -> Tenant | None:
        """The tenant where its services run already; reads nothing."""

    def get(self, account: str) -> Tenant | None:
        """The tenant, its services started where need be; None where there is no such account."""

"""A tenant is one account of the server with its own services, which all APIs use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.lakeformation.service import LakeFormation
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService

__all__ = ["Tenant", "Tenants"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """The services of the account whose resources a request names."""

    account: str
    schemas: RegistryService
    secrets: SecretsService
    tables: CatalogService
    crawls: CrawlService
    lake_formation: LakeFormation
    work_group_of: Callable[[str], str | None] = lambda _id: None
    """Returns the work group of a statement or named query by its id; None if there is none."""


class Tenants(Protocol):
    """The tenants of the server, by account."""

    @property
    def first(self) -> Tenant: ...

    def running(self, account: str) -> Tenant | None:
        """Return the tenant if its services are running; reads nothing."""

    def get(self, account: str) -> Tenant | None:
        """Return the tenant, starting its services if necessary; None if the account does not exist."""

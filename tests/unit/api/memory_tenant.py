"""A tenant over stores in memory."""

from pathlib import Path

from penstock.api.tenants import Tenant
from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.lake.locations import LakeFolder
from penstock.lakeformation.service import LakeFormation
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService
from penstock.store.memory.catalog import MemoryCatalogStore
from penstock.store.memory.crawl import MemoryCrawlStore
from penstock.store.memory.lakeformation import MemoryLakeFormationStore
from penstock.store.memory.secrets import MemorySecretStore


def memory_tenant(schemas: RegistryService) -> Tenant:
    """The tenant of the account of ``schemas``; it has no lake."""
    tables = CatalogService(MemoryCatalogStore())
    return Tenant(
        account=schemas.identity.account,
        schemas=schemas,
        secrets=SecretsService(MemorySecretStore(), region=schemas.identity.region),
        tables=tables,
        crawls=CrawlService(MemoryCrawlStore(), tables, LakeFolder(Path("no-lake"))),
        lake_formation=LakeFormation(MemoryLakeFormationStore(), account=schemas.identity.account),
    )

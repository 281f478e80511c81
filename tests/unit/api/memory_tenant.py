"""A tenant over stores in memory."""

from pathlib import Path

from penstock.api.tenants import Tenant
from penstock.catalog.service import CatalogService
from penstock.crawl.service import CrawlService
from penstock.lake.locations import LakeFolder
from penstock.lakeformation.service import LakeFormation
from penstock.registry.service import RegistryService
from penstock.secrets.service import SecretsService
from penstock.store.sql.catalog.crawl import SqlCrawlStore
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.lakeformation import SqlLakeFormationStore
from penstock.store.sql.sealing import Sealer
from penstock.store.sql.secrets import SqlSecretStore
from penstock.testing.sqlite import new_database


def memory_tenant(schemas: RegistryService) -> Tenant:
    """The tenant of the account of ``schemas``; it has no lake."""
    tables = CatalogService(SqlCatalogStore(new_database()))
    return Tenant(
        account=schemas.identity.account,
        schemas=schemas,
        secrets=SecretsService(SqlSecretStore(new_database(), Sealer(bytes(32))), region=schemas.identity.region),
        tables=tables,
        crawls=CrawlService(SqlCrawlStore(new_database()), tables, LakeFolder(Path("no-lake"))),
        lake_formation=LakeFormation(SqlLakeFormationStore(new_database()), account=schemas.identity.account),
    )

"""Import every table of the store, so that the metadata is complete; migrations are compared with it."""

import penstock.store.sql.access
import penstock.store.sql.audit
import penstock.store.sql.catalog.connections
import penstock.store.sql.catalog.crawl
import penstock.store.sql.catalog.details
import penstock.store.sql.catalog.tables
import penstock.store.sql.jobs
import penstock.store.sql.lakeformation
import penstock.store.sql.registry.tables
import penstock.store.sql.resources
import penstock.store.sql.secrets
import penstock.store.sql.statements  # noqa: F401
from penstock.store.sql.database import metadata

__all__ = ["metadata"]

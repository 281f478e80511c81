"""Every table of the store, registered: what migrations are compared with."""

import penstock.store.sql.access
import penstock.store.sql.catalog
import penstock.store.sql.catalog_details
import penstock.store.sql.connections
import penstock.store.sql.crawl
import penstock.store.sql.registry_tables
import penstock.store.sql.secrets
import penstock.store.sql.statements  # noqa: F401
from penstock.store.sql.database import metadata

__all__ = ["metadata"]

"""The behaviour of each store, as tests: authors of a store run them over it."""

from .access import AccessStoreSuite as AccessStoreSuite
from .catalog import CatalogStoreSuite as CatalogStoreSuite
from .connections import ConnectionStoreSuite as ConnectionStoreSuite
from .crawl import CrawlStoreSuite as CrawlStoreSuite
from .files import FileSystemSuite as FileSystemSuite
from .jobs import JobStoreSuite as JobStoreSuite
from .registry import RegistryStoreSuite as RegistryStoreSuite
from .resources import ResourceStoreSuite as ResourceStoreSuite
from .secrets import SecretStoreSuite as SecretStoreSuite
from .statements import StatementStoreSuite as StatementStoreSuite

"""The behaviour of every :class:`~penstock.catalog.store.CatalogStore`."""

from penstock.testing.suites.catalog_details import CatalogDetails
from penstock.testing.suites.catalog_rows import CatalogRows

__all__ = ["CatalogStoreSuite"]


class CatalogStoreSuite(CatalogRows, CatalogDetails):
    """The behaviour of every :class:`~penstock.catalog.store.CatalogStore`; fixture ``store`` is an empty one.

    Many threads use it at once.
    """

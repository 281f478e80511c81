"""The behaviour of every :class:`~penstock.registry.store.RegistryStore`."""

from penstock.testing.suites.registry_batches import RegistryBatches
from penstock.testing.suites.registry_rows import RegistryRows
from penstock.testing.suites.registry_versions import RegistryVersions

__all__ = ["RegistryStoreSuite"]


class RegistryStoreSuite(RegistryRows, RegistryVersions, RegistryBatches):
    """The behaviour of every :class:`~penstock.registry.store.RegistryStore`; fixture ``store`` is an empty one.

    Threads write at the same time: they all see one store.
    """

"""The behaviour of each store, as tests: whoever writes a store of their own runs them over it.

A suite is a class without the name of a test. A subclass named ``Test...`` with a fixture ``store`` runs it; the page
docs/operations/stores.md has an example. pytest comes with the extra ``testing``.
"""

import lazy_loader
import pytest

# So that failed comparisons are shown, as in a test module.
_MODULES = (
    "access",
    "catalog_details",
    "catalog_rows",
    "connections",
    "registry_batches",
    "registry_rows",
    "registry_values",
)
pytest.register_assert_rewrite(*(f"{__name__}.{name}" for name in (*_MODULES, "registry_versions", "secrets", "statements")))

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

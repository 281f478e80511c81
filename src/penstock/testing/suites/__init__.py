"""The behaviour of each store, as tests: authors of a store run them over it.

A suite is a class without the name of a test. A subclass named ``Test...`` with a fixture ``store`` runs it; the page
docs/operations/stores.md has an example. pytest comes with the extra ``testing``.
"""

from pathlib import Path

import lazy_loader
import pytest

# So that failed comparisons are shown, as in a test module.
pytest.register_assert_rewrite(*(f"{__name__}.{path.stem}" for path in Path(__file__).parent.glob("[a-z]*.py")))

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Cached clients of the registry, the catalog and the secrets over boto3; against AWS itself where no endpoint is set.

Its public names, which ``__init__.pyi`` lists, are imported when they are used: each needs its own extra's libraries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Parse, canonicalise, infer, compare and explain schemas; pure functions, no network.

``__init__.pyi`` lists the public names. Each is imported on first use, because each needs the libraries of its own extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

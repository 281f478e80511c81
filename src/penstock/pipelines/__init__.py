"""Declared pipelines: source, transform and sink of a stream, as frozen values without Spark.

Its public names, which ``__init__.pyi`` lists, are imported when they are used: each needs its own extra's libraries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

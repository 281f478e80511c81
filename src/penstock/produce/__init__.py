"""Records from files or generated, sent to a topic with a registered schema, and every acknowledgement counted.

``__init__.pyi`` lists its public names. They are imported when they are used, because each needs the libraries of an extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

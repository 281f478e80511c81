"""Lambda-style functions and their event source mappings: records of Kafka and Kinesis go to handlers in child processes.

``__init__.pyi`` lists its public names. They are imported when they are used, because each needs the libraries of an extra.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

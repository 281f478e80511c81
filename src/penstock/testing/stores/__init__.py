"""S3 stores that others wrote, as child processes on free ports, with a key and an empty bucket.

:data:`STORES` has a row for each. S3Proxy comes with the artefacts of the tests and starts in seconds: it is the one of CI.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from penstock.testing.stores.port import S3Store
from penstock.testing.stores.radosgw import running_radosgw
from penstock.testing.stores.s3proxy import running_s3proxy
from penstock.testing.stores.versitygw import running_versitygw

__all__ = ["STORES", "S3Store", "running_store"]

STORES: dict[str, Callable[[], AbstractContextManager[S3Store]]] = {
    "s3proxy": running_s3proxy,
    "radosgw": running_radosgw,
    "versitygw": running_versitygw,
}
"""How each store is started, by its name."""


def running_store(name: str = "s3proxy") -> AbstractContextManager[S3Store]:
    """Run the store of that name during the block. Raises ``KeyError`` for a name that :data:`STORES` has not."""
    return STORES[name]()

"""The data catalog as the catalog of a script's Spark: ``spark.sql`` and ``spark.table`` find its tables by name.

Spark asks a Hive metastore, which runs in the script's process for as long as the script does.
"""

import importlib.util
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.client.connection import open_client
from penstock.errors import EnvironmentProblem, InvalidInput

__all__ = ["METASTORE", "catalog_served", "wants_catalog"]

METASTORE = "PENSTOCK_GLUE_METASTORE"
"""Environment variable: set to serve the catalog; the folder of the lake's buckets, or ``s3`` for S3."""

_OPTION = "--enable-glue-datacatalog"
_LIBRARIES = ("thrift", "hive_metastore")
_REACHED_BY = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_GLUE", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")
_TRUE, _FALSE = ("", "true", "1"), ("false", "0")


def wants_catalog(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether Spark's catalog is the data catalog: by the job's argument, else if AWS's variables lead to one.

    Raises :class:`EnvironmentProblem` if the argument says so and the libraries are not installed, and
    :class:`InvalidInput` for another value than true or false.
    """
    requested = _requested(arguments)
    installed = all(importlib.util.find_spec(name) for name in _LIBRARIES)
    if requested is None:
        return installed and any(environment.get(name) for name in _REACHED_BY)
    if requested and not installed:
        raise EnvironmentProblem(
            f"{_OPTION} needs libraries that are not installed.", remedy="Install them: pip install 'penstock[metastore]'."
        )
    return requested


def _requested(arguments: Sequence[str]) -> bool | None:
    for number, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name != _OPTION:
            continue
        following = arguments[number + 1] if number + 1 < len(arguments) else ""
        text = (value if equals else ("" if following.startswith("--") else following)).strip().lower()
        if text not in _TRUE + _FALSE:
            raise InvalidInput(f"The argument {_OPTION} is {text!r}.", remedy="Use true or false.")
        return text in _TRUE
    return None


class _ClientOnDemand:
    """A client of ``service`` that is opened by its first call: a script without tables needs no credentials."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._client: Any = None

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._client is None:
                self._client = open_client(self._service)
        return getattr(self._client, name)


@contextmanager
def catalog_served(environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Serve the catalog to the Spark that the script will start, if :data:`METASTORE` says so."""
    where = environment.get(METASTORE)
    if not where:
        yield
        return
    from penstock.metastore.folders import LakeFolders, S3Folders  # noqa: PLC0415 - the libraries may not be there
    from penstock.metastore.handler import MetastoreHandler  # noqa: PLC0415
    from penstock.metastore.server import serving  # noqa: PLC0415

    folders = S3Folders(_ClientOnDemand("s3")) if where == "s3" else LakeFolders(Path(where))
    with serving(MetastoreHandler(_ClientOnDemand("glue"), folders)) as server:
        before = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--conf spark.hadoop.hive.metastore.uris={server.uri} {before}"
        yield

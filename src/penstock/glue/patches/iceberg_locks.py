"""Iceberg's lock managers, which a script's catalog does not need here, nor on Glue since its version 4.0.

Scripts for Glue 3.0 name ``org.apache.iceberg.aws.glue.DynamoLockManager``, which Iceberg no longer has, or the one of
``aws.dynamodb``, which needs a table of DynamoDB. Since Iceberg 1.0 a commit to Glue's catalog names the version that it
replaces, and the catalog refuses it if there is another by now. Source: "Using the Iceberg framework in AWS Glue",
https://docs.aws.amazon.com/glue/latest/dg/aws-glue-programming-etl-format-iceberg.html.
"""

import logging
from collections.abc import Mapping
from functools import wraps
from typing import Any

from pyspark import SparkConf
from pyspark.sql import SparkSession
from pyspark.sql.conf import RuntimeConfig

from penstock.glue.datalake import is_lock

__all__ = ["leave_out_locks"]

_PATCHED = "_penstock_locks"

_log = logging.getLogger("awsglue")


def leave_out_locks() -> None:
    """Let Spark's settings pass over Iceberg's locks in DynamoDB, with a warning; a second call changes nothing."""
    if hasattr(SparkConf, _PATCHED):
        return
    setattr(SparkConf, _PATCHED, True)
    SparkConf.set = _without_locks(SparkConf.set)  # type: ignore[method-assign]
    RuntimeConfig.set = _without_locks(RuntimeConfig.set)  # type: ignore[method-assign]
    SparkSession.Builder.config = _without_locks(SparkSession.Builder.config)  # type: ignore[method-assign]


def _without_locks(original: Any) -> Any:
    @wraps(original)
    def setting(self: Any, key: Any = None, value: Any = None, **more: Any) -> Any:
        if _is_lock(key, value):
            return self
        if isinstance(more.get("map"), Mapping):
            more["map"] = {name: each for name, each in more["map"].items() if not _is_lock(name, each)}
        return original(self, **{name: each for name, each in (("key", key), ("value", value)) if each is not None}, **more)

    return setting


def _is_lock(name: Any, value: Any) -> bool:
    is_one = isinstance(name, str) and is_lock(name, value)
    if is_one:
        _log.warning("%s has no effect: commits to Glue's catalog are checked by their versions.", name)
    return is_one

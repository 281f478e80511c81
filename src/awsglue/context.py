"""GlueContext."""

from typing import Any

from penstock.spark.glue.context import GlueContext
from penstock.spark.glue.errors import refused_name

__all__ = ["GlueContext"]


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)

"""Functions on columns; those that AWS describes nowhere raise at their use."""

from typing import Any

from pyspark.sql import Column

from penstock.glue.errors import refused_name
from penstock.glue.frames.relational import exploded_with_index
from penstock.glue.library.table import refusals

__all__ = ["explodeWithIndex"]
# So that ``import *`` finds the refused ones, too.
__all__ += list(refusals("awsglue.functions"))


def explodeWithIndex(col: Column | str) -> Column:  # noqa: N802 - AWS's name
    """See :func:`penstock.glue.frames.relational.exploded_with_index`."""
    return exploded_with_index(col)


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)

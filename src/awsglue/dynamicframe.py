"""DynamicFrame."""

from typing import Any

from penstock.spark.glue.errors import MODULE, not_built
from penstock.spark.glue.frames.dynamic_frame import DynamicFrame

__all__ = ["DynamicFrame"]


def __getattr__(name: str) -> Any:
    raise not_built(MODULE, "awsglue.dynamicframe", name, __all__)

"""DynamicFrame."""

from typing import Any

from penstock.spark.glue.errors import MODULE, not_supported
from penstock.spark.glue.frames.dynamic_frame import DynamicFrame

__all__ = ["DynamicFrame"]


def __getattr__(name: str) -> Any:
    raise not_supported(MODULE, "awsglue.dynamicframe", name, __all__)

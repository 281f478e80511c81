"""DynamicFrame."""

from typing import Any

from penstock.spark.glue.errors import refused_name
from penstock.spark.glue.frames.dynamic_frame import DynamicFrame

__all__ = ["DynamicFrame"]


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)

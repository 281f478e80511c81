"""DynamicFrame and DynamicFrameCollection."""

from typing import Any

from penstock.spark.glue.errors import refused_name
from penstock.spark.glue.frames.collection import DynamicFrameCollection
from penstock.spark.glue.frames.dynamic_frame import DynamicFrame, ResolveOption

__all__ = ["DynamicFrame", "DynamicFrameCollection", "ResolveOption"]


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)

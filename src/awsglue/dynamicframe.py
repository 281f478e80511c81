"""DynamicFrame, DynamicFrameCollection, and the readers and writers of a context."""

from typing import Any

from penstock.glue.context.access import DynamicFrameReader, DynamicFrameWriter
from penstock.glue.errors import refused_name
from penstock.glue.frames.dynamic_frame import DynamicFrame, DynamicFrameCollection, ResolveOption

__all__ = ["DynamicFrame", "DynamicFrameCollection", "DynamicFrameReader", "DynamicFrameWriter", "ResolveOption"]


def __getattr__(name: str) -> Any:
    return refused_name(__name__, name)

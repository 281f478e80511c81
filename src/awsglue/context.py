"""GlueContext; and, as on AWS, the classes of frames, which scripts import from here as well."""

from typing import Any

from awsglue import dynamicframe
from penstock.glue.context.glue_context import GlueContext
from penstock.glue.errors import refused_name

__all__ = ["GlueContext"]


def __getattr__(name: str) -> Any:
    if name.startswith("DynamicFrame"):
        return getattr(dynamicframe, name)
    return refused_name(__name__, name)

"""GlueContext."""

from penstock.spark.glue.context import GlueContext

__all__ = ["GlueContext"]

"""DynamicFrame."""

from penstock.spark.glue.dynamic_frame import DynamicFrame

__all__ = ["DynamicFrame"]

"""What ``getSink`` returns."""

from penstock.spark.glue.writers import DataSink

__all__ = ["DataSink"]

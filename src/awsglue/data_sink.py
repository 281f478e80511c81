"""What ``getSink`` returns."""

from penstock.glue.context.writers import DataSink

__all__ = ["DataSink"]

"""What ``getSink`` returns."""

from penstock.glue.writers import DataSink

__all__ = ["DataSink"]

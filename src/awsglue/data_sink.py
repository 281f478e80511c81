"""What ``getSink`` returns."""

from penstock.glue.context.access import DataSink

__all__ = ["DataSink"]

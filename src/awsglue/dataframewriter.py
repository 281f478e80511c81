"""``write_data_frame`` of a context."""

from penstock.glue.context.access import DataFrameWriter

__all__ = ["DataFrameWriter"]

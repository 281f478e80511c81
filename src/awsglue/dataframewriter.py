"""``write_data_frame`` of a context."""

from penstock.glue.context.writers import DataFrameWriter

__all__ = ["DataFrameWriter"]

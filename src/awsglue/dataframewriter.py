"""``write_data_frame`` of a context."""

from penstock.glue.writers import DataFrameWriter

__all__ = ["DataFrameWriter"]

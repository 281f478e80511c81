"""``create_data_frame`` of a context."""

from penstock.glue.context.readers import DataFrameReader

__all__ = ["DataFrameReader"]

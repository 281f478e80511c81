"""``create_data_frame`` of a context."""

from penstock.glue.context.access import DataFrameReader

__all__ = ["DataFrameReader"]

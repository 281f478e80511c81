"""``create_data_frame`` of a context."""

from penstock.spark.glue.readers import DataFrameReader

__all__ = ["DataFrameReader"]

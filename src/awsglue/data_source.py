"""What ``getSource`` returns."""

from penstock.spark.glue.readers import DataSource

__all__ = ["DataSource"]

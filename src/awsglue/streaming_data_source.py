"""What ``getStreamingSource`` returns."""

from penstock.spark.glue.readers import DataSource as StreamingDataSource

__all__ = ["StreamingDataSource"]

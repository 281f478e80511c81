"""What ``getStreamingSource`` returns."""

from penstock.glue.readers import DataSource as StreamingDataSource

__all__ = ["StreamingDataSource"]

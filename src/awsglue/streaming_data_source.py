"""What ``getStreamingSource`` returns."""

from penstock.glue.context.readers import DataSource as StreamingDataSource

__all__ = ["StreamingDataSource"]

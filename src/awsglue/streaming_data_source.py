"""What ``getStreamingSource`` returns."""

from penstock.glue.context.access import DataSource as StreamingDataSource

__all__ = ["StreamingDataSource"]

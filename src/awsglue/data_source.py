"""What ``getSource`` returns."""

from penstock.glue.context.readers import DataSource

__all__ = ["DataSource"]

"""What ``getSource`` returns."""

from penstock.glue.readers import DataSource

__all__ = ["DataSource"]

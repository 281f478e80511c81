"""What ``getSource`` returns."""

from penstock.glue.context.access import DataSource

__all__ = ["DataSource"]

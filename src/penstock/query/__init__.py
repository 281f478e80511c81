"""SQL over the lake: Athena's statements on an embedded engine."""

"""The registry in SQL."""

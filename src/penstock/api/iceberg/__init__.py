"""Iceberg's REST catalog API over the data catalog of each account."""

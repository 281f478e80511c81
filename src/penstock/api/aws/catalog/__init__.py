"""Glue's catalog operations: databases, tables, partitions, connections, crawlers."""

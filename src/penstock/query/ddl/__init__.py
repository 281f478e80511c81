"""Statements that change the catalog: databases, tables, partitions, views."""

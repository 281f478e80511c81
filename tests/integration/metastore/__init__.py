"""Hive's metastore over the catalog, with Spark as its client."""

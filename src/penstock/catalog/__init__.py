"""Databases, tables, table versions, partitions and partition expressions; the ``CatalogStore`` port."""

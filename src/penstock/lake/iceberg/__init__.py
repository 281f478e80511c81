"""Iceberg's metadata documents: schemas, updates, requirements, views, and their files in the lake."""

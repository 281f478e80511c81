"""Schemas out of data: what values look like, and the schema that has room for them. Pure functions."""

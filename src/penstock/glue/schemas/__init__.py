"""Schemas of Glue: types with choices, how they are found in records, and how Spark's frames keep them."""

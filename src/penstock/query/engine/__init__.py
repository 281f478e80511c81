"""A statement's queries: planned, and computed by the embedded engine or by Spark SQL."""

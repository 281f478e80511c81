"""Spark SQL as a statement's engine: what of Trino's dialect it computes alike, what it reads, and its rows as a result."""

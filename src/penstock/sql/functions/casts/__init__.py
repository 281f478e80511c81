"""Conversion: casts between Trino's types, from JSON, and of arrays, maps and rows."""

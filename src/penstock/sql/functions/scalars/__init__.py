"""Functions and operators on single values: text, JSON, numbers, bytes, comparisons, conversions."""

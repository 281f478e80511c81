"""Trino's functions and operators: a row for each, which says how the engine computes it, or why it is refused."""

"""Functions and operators on arrays, maps and rows, and lambda expressions."""

"""Athena's SQL dialect: parsing, functions, types, SHOW statements."""

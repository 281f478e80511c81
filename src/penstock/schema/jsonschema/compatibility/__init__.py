"""Compares two JSON Schemas: what a reader with one accepts of a writer with the other."""

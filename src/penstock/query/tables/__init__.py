"""Kinds of tables: how each becomes a view of the engine."""

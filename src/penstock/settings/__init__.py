"""Frozen configuration from a given mapping; nothing here reads the environment at import."""

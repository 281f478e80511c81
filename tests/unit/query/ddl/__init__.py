"""Statements that change the catalog."""

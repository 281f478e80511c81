"""Athena's statements as values, and the readers of each kind's text: Hive's grammar for DDL, Trino's for the rest."""

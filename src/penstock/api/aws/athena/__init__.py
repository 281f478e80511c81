"""The operations of Athena."""

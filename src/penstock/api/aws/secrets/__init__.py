"""The operations of Secrets Manager."""

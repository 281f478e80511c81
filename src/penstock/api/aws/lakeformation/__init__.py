"""Lake Formation's operations."""

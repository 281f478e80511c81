"""``penstock jobs``."""

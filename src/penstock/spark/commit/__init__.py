"""A micro-batch: staged, checked, committed."""

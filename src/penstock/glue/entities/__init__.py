"""Sensitive data in text: the types of entities that can be found by patterns and checks, and what is done with them."""

"""Shipped helpers for tests of Penstock and of what is built on it."""

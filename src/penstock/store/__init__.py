"""The implementations of every storage port."""

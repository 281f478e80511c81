"""The in-memory implementation of the ports, for tests and trials."""

"""A SQL statement's life as values, and the port that keeps it."""

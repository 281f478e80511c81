"""The life cycle of a SQL statement as values, and the port that stores it."""

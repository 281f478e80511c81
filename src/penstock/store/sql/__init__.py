"""The SQL implementation of the ports: SQLite (WAL) embedded, PostgreSQL by URL."""

"""The implementations of every storage port: SQL (SQLAlchemy, Alembic) and in memory."""

"""Alembic's entry point: runs on the connection and inside the transaction that the caller gives."""

from alembic import context

import penstock.store.sql.tables  # noqa: F401
from penstock.store.sql.database import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()

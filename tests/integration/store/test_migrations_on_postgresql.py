"""A database of the last revision before the migrations became one, in PostgreSQL: taken over, and as a new one is."""

from collections.abc import Mapping, Set
from contextlib import closing

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from penstock.store.sql.database import Database
from penstock.store.sql.migrate import HEAD, migrate, revision_of
from penstock.store.sql.tables import metadata
from penstock.testing.postgres import PostgresServer
from tests.unit.store import earlier_schemas

_MINE = "connamespace = 'public'::regnamespace"
_CATALOG = {
    "columns": (
        "SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, character_maximum_length,"
        " collation_name FROM information_schema.columns WHERE table_schema = 'public'"
    ),
    "constraints": f"SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE {_MINE}",
    "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "sequences": "SELECT sequencename, data_type::text, start_value, increment_by FROM pg_sequences",
}


def schema_of(database: Database) -> Mapping[str, Set[tuple[object, ...]]]:
    """What PostgreSQL's own catalog says of the tables."""
    with database.read() as connection:
        return {name: set(map(tuple, connection.exec_driver_sql(query))) for name, query in _CATALOG.items()}


def test_a_database_of_the_last_revision_before_this_one_is_taken_over(
    postgres: PostgresServer, postgres_database: Database
) -> None:
    with closing(Database(postgres.new_database())) as database:
        with database.write() as connection:
            before = earlier_schemas.make(connection, "0018")
        migrate(database)
        with database.read() as connection:
            assert earlier_schemas.rows(connection) == before
            assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata) == []
        assert revision_of(database) == HEAD
        old, new = schema_of(database), schema_of(postgres_database)
        assert all(new.values())
        assert old == new

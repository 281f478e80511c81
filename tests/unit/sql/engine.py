"""One engine for all examples: an expression in Trino's dialect goes in, Trino's type and text come out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
from sqlglot import exp

from penstock.query.engine.failures import translate_error
from penstock.query.results.values import texts
from penstock.sql.engine_types import result_column
from penstock.sql.grammar import TrinoCalls
from penstock.sql.library import install
from penstock.sql.translate import to_engine
from penstock.sql.trino_types import Type

__all__ = ["Engine"]


class Engine:
    """A connection, as the engine of statements has it, without tables."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET TimeZone = 'UTC'")
        self._tree: exp.Query | None = None
        self._tables: dict[str, Mapping[str, Type | None]] = {}

    def create(self, name: str, sql: str) -> None:
        """Make a table of a query's rows, whose columns have the types of the query's."""
        (tree,) = TrinoCalls().parse(sql)
        assert isinstance(tree, exp.Query)
        kinds = to_engine(tree, lambda _: None)
        text = tree.sql("duckdb", comments=False)
        install(self.connection, text)
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS {text}")
        columns = [column for column, *_ in self.connection.execute(f"DESCRIBE {name}").fetchall()]
        self._tables[name] = dict(zip(columns, kinds, strict=True))

    def repeat(self, table: str, columns: Sequence[str], name: str, copies: int) -> None:
        """Make a table that has the rows of another one several times, one copy after the other."""
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT {', '.join(columns)} FROM range({copies}) CROSS JOIN {table}"
        )
        self._tables[name] = {column: self._tables[table][column] for column in columns}

    def translated(self, sql: str) -> tuple[str, list[Type | None]]:
        """Return the engine's SQL for a query, and Trino's types of its columns where they are known."""
        (tree,) = TrinoCalls().parse(sql)
        assert isinstance(tree, exp.Query)
        kinds = to_engine(tree, lambda table: self._tables.get(table.name))
        self._tree = tree
        return tree.sql("duckdb", comments=False), list(kinds)

    def rows(self, sql: str, *, distinct: bool = False) -> list[tuple[str | None, ...]]:
        """Return a query's rows as Athena prints them; with ``distinct``, each once, ordered by the first column.

        Raises :class:`StatementError`.
        """
        return self._run(sql, "SELECT DISTINCT * FROM ({}) ORDER BY 1" if distinct else "{}")[1]

    def value(self, expression: str) -> tuple[str, str | None]:
        """Return the type and the text of an expression's value. Raises :class:`StatementError`."""
        kinds, rows = self._run(f"SELECT {expression}")
        return kinds[0], rows[0][0]

    def _run(self, sql: str, around: str = "{}") -> tuple[list[str], list[tuple[str | None, ...]]]:
        text, kinds = self.translated(sql)
        text = around.format(text) if around != "{}" else text
        try:
            install(self.connection, text)
            relation = self.connection.sql(text)
            types = [str(result_column("x", type_).type) for type_ in relation.types]
            table = relation.to_arrow_table().combine_chunks()
            known = kinds or [None] * len(types)
            columns = [
                texts(column.chunk(0), type_) if column.num_chunks else []
                for column, type_ in zip(table.columns, known, strict=True)
            ]
        except duckdb.Error as error:
            raise translate_error(error, self._tree, Path("/nowhere")) from error
        return [str(type_) if type_ else engine for type_, engine in zip(known, types, strict=True)], list(
            zip(*columns, strict=True)
        )

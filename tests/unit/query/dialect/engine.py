"""One engine for all examples: an expression in Trino's dialect goes in, Trino's type and text come out."""

from pathlib import Path

import duckdb
from sqlglot import exp

from penstock.query.dialect.functions.library import install
from penstock.query.dialect.grammar import TrinoCalls
from penstock.query.dialect.kinds import Type
from penstock.query.dialect.translate import to_engine
from penstock.query.dialect.types import result_column
from penstock.query.execution.failures import translate_error
from penstock.query.execution.values import texts

__all__ = ["Engine"]


class Engine:
    """A connection, as the engine of statements has it, without tables."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute("SET TimeZone = 'UTC'")

    def translated(self, sql: str) -> tuple[str, list[Type | None]]:
        """Return the engine's SQL for a query, and Trino's types of its columns where they are known."""
        (tree,) = TrinoCalls().parse(sql)
        assert isinstance(tree, exp.Query)
        kinds = to_engine(tree, lambda _: None)
        return tree.sql("duckdb", comments=False), list(kinds)

    def rows(self, sql: str) -> list[tuple[str | None, ...]]:
        """Return a query's rows as Athena prints them. Raises :class:`StatementError`."""
        return self._run(sql)[1]

    def value(self, expression: str) -> tuple[str, str | None]:
        """Return the type and the text of an expression's value. Raises :class:`StatementError`."""
        kinds, rows = self._run(f"SELECT {expression}")
        return kinds[0], rows[0][0]

    def _run(self, sql: str) -> tuple[list[str], list[tuple[str | None, ...]]]:
        text, kinds = self.translated(sql)
        try:
            install(self.connection, text)
            relation = self.connection.sql(text)
            found = [str(result_column("x", kind).type) for kind in relation.types]
            table = relation.to_arrow_table().combine_chunks()
            known = kinds or [None] * len(found)
            columns = [
                texts(column.chunk(0), kind) if column.num_chunks else []
                for column, kind in zip(table.columns, known, strict=True)
            ]
        except duckdb.Error as error:
            raise translate_error(error, None, Path("/nowhere")) from error
        return [str(kind) if kind else engine for kind, engine in zip(known, found, strict=True)], list(
            zip(*columns, strict=True)
        )

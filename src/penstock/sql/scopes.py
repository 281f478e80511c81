"""The types of names: which column of which source a name means, and the result columns of each query in a statement."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from penstock.sql.errors import StatementError
from penstock.sql.functions.scalars.subqueries import CORRELATED
from penstock.sql.names.resolution import Named, check_column
from penstock.sql.patterns.recognition import REST
from penstock.sql.positions import position_of
from penstock.sql.relations import unnested_columns
from penstock.sql.trino_types import Type, common

__all__ = ["Columns", "Scopes", "field_type"]

Columns = Callable[[exp.Table], Mapping[str, Type | None] | None]
"""Returns a table's columns (in lower case) with their types, or None if they are not known."""

_Named = Sequence[tuple[str, Type | None]]


class Scopes:
    """The names of a statement, scope by scope from the inside; ``type_of`` tells the type of a translated expression."""

    def __init__(self, columns: Columns, type_of: Callable[[exp.Expr], Type | None]) -> None:
        self._columns = columns
        self._type_of = type_of
        self._outputs: dict[int, tuple[exp.Expr, _Named | None]] = {}

    def finish(self, scope: Scope) -> None:
        """Note the result columns of a scope whose expressions are translated."""
        self._outputs[id(scope.expression)] = (scope.expression, self._output(scope))

    def stands_for(self, new: exp.Expr, query: exp.Expr) -> None:
        """Note that ``new`` has taken the place of a finished query in the tree."""
        self._outputs[id(new)] = (new, self._outputs[id(query)][1])

    def is_finished(self, query: exp.Expr) -> bool:
        """Return whether the query of a scope is translated."""
        return id(query) in self._outputs

    def result(self, query: exp.Expr) -> _Named | None:
        """Return names and types of a query's result columns, None if their number is not known."""
        while isinstance(query, exp.Subquery):
            query = query.this
        columns = self._outputs.get(id(query))
        return columns[1] if columns is not None else None

    def scalar(self, query: exp.Expr) -> Type | None:
        """Return the type of a scalar subquery; of several columns it is a row."""
        named = self.result(query)
        if named is not None and len(named) > 1:
            return Type.row((None, type_) for _, type_ in named)
        return named[0][1] if named else None

    def column(self, node: exp.Column, scope: Scope | None) -> Type | None:
        """Return the type of the column that ``node`` names in ``scope`` or around it, None if it is not known."""
        name, table = node.name.lower(), node.table.lower()
        inside: list[exp.Expr] = []
        while scope is not None:
            for columns in self._sources(scope, table):
                if name in columns:
                    for item in inside:
                        item.meta[CORRELATED] = True
                    return columns[name]
            inside.append(scope.expression)
            if table and table not in map(str.lower, scope.sources):
                row = next((columns[table] for columns in self._sources(scope) if table in columns), None)
                if row is not None:
                    return field_type(row, name)
            scope = scope.parent
        return None

    def check(self, node: exp.Column, scope: Scope | None) -> None:
        """Raise Trino's error for a name that is ambiguous in ``scope``, or no column as far as that is known."""
        around = []
        while scope is not None:
            around.append((scope.expression, self._named(scope)))
            scope = scope.parent
        check_column(node, around)

    def expand_rest(self, scope: Scope) -> None:
        """Write the columns that a star of MATCH_RECOGNIZE means (:data:`REST`) in its place."""
        for star in [expression for expression in scope.expression.expressions if REST in expression.meta]:
            named = self._star(star, scope)
            if named is None:
                message = "ALL ROWS PER MATCH is not supported over a relation whose columns are not known."
                raise StatementError("NOT_SUPPORTED", message, remedy="Name the columns in a subquery.")
            columns = [
                exp.column(exp.to_identifier(name, quoted=True), table=star.args["table"].copy())
                for name, _ in named
                if name not in star.meta[REST]
            ]
            projections = scope.expression.expressions
            at = star.index or 0
            scope.expression.set("expressions", [*projections[:at], *columns, *projections[at + 1 :]])

    def _named(self, scope: Scope) -> Sequence[Named]:
        if not isinstance(scope.expression, exp.Select):
            return [("", None)]
        return [
            (name, (not isinstance(node, exp.Unnest) and node.alias_column_names) or self._names(source))
            for name, (node, source) in scope.selected_sources.items()
        ]

    def _names(self, source: exp.Expr | Scope) -> Sequence[str] | None:
        """Return the names of a source's columns in order, of which some may be equal; None if they are not known."""
        if isinstance(source, exp.Table):
            return list(self._columns(source) or ()) or None
        named = self.result(source.expression) if isinstance(source, Scope) else None
        return [name for name, _ in self._renamed(named, _given_names(source.expression)) or ()] if named else None

    def _sources(self, scope: Scope, alias: str = "") -> Iterator[Mapping[str, Type | None]]:
        selected = scope.selected_sources
        for name, source in scope.sources.items():
            if isinstance(source, Scope) and source.is_cte and name not in selected:
                continue  # a WITH that this query does not read
            columns = self._source(source) if not alias or alias == name.lower() else None
            if columns is not None:
                yield columns

    def _source(self, source: exp.Expr | Scope) -> Mapping[str, Type | None] | None:
        named = self._in_order(source)
        return dict(named) if named is not None else None

    def _in_order(self, source: exp.Expr | Scope) -> _Named | None:
        """Return the columns of a source, of which some may have equal names."""
        if isinstance(source, exp.Table):
            columns = self._columns(source)
            return list(columns.items()) if columns is not None else None
        named = self.result(source.expression) if isinstance(source, Scope) else None
        return self._renamed(named, _given_names(source.expression)) if named is not None else None

    @staticmethod
    def _renamed(named: _Named | None, names: Sequence[str]) -> _Named | None:
        if named is None or not names:
            return named
        return [(new.lower(), type_) for new, (_, type_) in zip(names, named, strict=False)]

    def _output(self, scope: Scope) -> _Named | None:
        query = scope.expression
        if isinstance(query, exp.SetOperation):
            left, right = self.result(query.left), self.result(query.right)
            if left is None or right is None or len(left) != len(right):
                return None
            for number, ((_, type_), (_, other)) in enumerate(zip(left, right, strict=True), start=1):
                _check_union(query, number, type_, other)
            return [(name, common([type_, other])) for (name, type_), (_, other) in zip(left, right, strict=True)]
        if isinstance(query, exp.Values):
            return self._values(query)
        if isinstance(query, exp.Unnest):
            return unnested_columns(query, self._type_of)
        if isinstance(query, exp.Lateral):
            return self._renamed(self.result(query.this), query.alias_column_names)
        return self._projections(query, scope) if isinstance(query, exp.Select) else None

    def _values(self, query: exp.Values) -> _Named:
        rows = [
            expression.expressions if isinstance(expression, exp.Tuple) else [expression] for expression in query.expressions
        ]
        names = query.alias_column_names or [f"_col{at}" for at in range(len(rows[0]))]
        types = [common([self._type_of(item) for item in column]) for column in zip(*rows, strict=False)]
        return [(name.lower(), type_) for name, type_ in zip(names, types, strict=False)]

    def _projections(self, query: exp.Select, scope: Scope) -> _Named | None:
        result: list[tuple[str, Type | None]] = []
        for expression in query.expressions:
            if not expression.is_star:
                result.append((expression.alias_or_name.lower(), self._type_of(expression)))
                continue
            expanded = self._star(expression, scope)
            if expanded is None:
                return None
            result += expanded
        return result

    def _star(self, node: exp.Expr, scope: Scope) -> _Named | None:
        joins = scope.expression.args.get("joins") or ()
        if any(join.args.get("using") or join.method for join in joins):
            return None
        table = node.table.lower() if isinstance(node, exp.Column) else ""
        result: list[tuple[str, Type | None]] = []
        for alias, (_, source) in scope.selected_sources.items():
            if table and alias.lower() != table:
                continue
            columns = self._in_order(source)
            if columns is None:
                return None
            result += columns
        return result


def _check_union(query: exp.SetOperation, number: int, left: Type | None, right: Type | None) -> None:
    if left is None or right is None or left.inner or right.inner or common([left, right]) is not None:
        return
    message = f"column {number} in {query.key.upper()} query has incompatible types: {left}, {right}"
    raise StatementError("TYPE_MISMATCH", message, position=position_of(query))


def _given_names(query: exp.Expr) -> Sequence[str]:
    """Return the names that stand behind a query's alias, empty if there are none."""
    parent = query.parent
    while isinstance(parent, exp.SetOperation):  # a recursive query names itself by its first part
        parent = parent.parent
    while isinstance(parent, exp.Subquery) and not parent.alias and isinstance(parent.parent, exp.Subquery):
        parent = parent.parent  # brackets in brackets
    return parent.alias_column_names if isinstance(parent, exp.CTE | exp.Subquery) else []


def field_type(type_: Type | None, name: str) -> Type | None:
    """Return the type of a row's field, None if it is not known."""
    if type_ is None or type_.name != "row":
        return None
    fields = {field.lower(): inner for field, inner in zip(type_.fields, type_.inner, strict=True) if field is not None}
    return fields.get(name.lower())

"""Measures as expressions over the joined rows of a match; aggregates become windows over the match.

In the query that is written, ``own`` is the row of the match itself, and each row that a navigation finds is a relation of
its own, whose columns are all NULL where there is no such row.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.sql.patterns.navigation import Navigation, References, error_at, is_aggregate, is_call, without_children
from penstock.sql.patterns.recognition import MODE, Labels

__all__ = [
    "LABEL",
    "MATCH",
    "NUMBER",
    "OWN",
    "PARTITION",
    "SEQUENCE",
    "Measures",
    "aggregate_name",
    "column",
    "field_of",
    "place_name",
    "rows_name",
    "with_children",
]

OWN = "trino_own_row"
MATCH = "trino_match"
NUMBER, SEQUENCE, LABEL, PARTITION = "trino_number", "trino_sequence", "trino_label", "trino_partition"
_NAVIGATION = ("first", "last", "prev", "next")


def column(name: str, table: str | None = None) -> exp.Column:
    """Return the column of one of our own relations."""
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True) if table else None)


def rows_name(number: int) -> str:
    """Return the name of the relation with the rows that a navigation goes to."""
    return f"trino_row_{number}"


def place_name(number: int, *, label: bool = False) -> str:
    """Return the name of the column with the number, or the variable, of the row that a navigation goes to."""
    return f"trino_{'label' if label else 'place'}_{number}"


def rebuilt(node: exp.Expr, parts: dict[str, object]) -> exp.Expr:
    """Return a node like ``node`` with other parts, at the same position of the SQL."""
    new = type(node)(**parts)
    new.meta.update(node.meta)
    return new


def with_children(node: exp.Expr, write: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """Return a node like ``node`` with what ``write`` makes of each node in it."""

    def part(value: object) -> object:
        if isinstance(value, exp.Expr):
            return value.copy() if isinstance(value, exp.Identifier | exp.DataType) else write(value)
        return [part(item) for item in value] if isinstance(value, list) else value

    return rebuilt(node, {name: part(value) for name, value in node.args.items()})


def aggregate_name(number: int) -> str:
    """Return the name of the column with the value of an aggregate."""
    return f"trino_aggregate_{number}"


def field_of(parts: Sequence[exp.Expr], table: str) -> exp.Expr:
    """Return the column ``parts[0]`` of ``table``, or the field of a row in it."""
    result: exp.Expr = exp.Column(this=parts[0].copy(), table=exp.to_identifier(table, quoted=True))
    for part in parts[1:]:
        result = exp.Dot(this=result, expression=part.copy())
    return result


class Measures:
    """Writes the measures of one clause, and collects the navigations that they need."""

    def __init__(self, references: References, *, one_row: bool) -> None:
        self._references = references
        self._one_row = one_row
        self._places: dict[Navigation, int] = {}
        self.aggregates: list[exp.Expr] = []
        """The aggregates, which need all rows of a match, as windows over them."""

    @property
    def navigations(self) -> Sequence[Navigation]:
        """The rows that the measures need, in the order of their numbers."""
        return list(self._places)

    def write(self, node: exp.Expr) -> exp.Expr:
        """Return the expression of a measure. Raises :class:`StatementError`."""
        return self._written(node, None, frozenset())

    def _place(self, navigation: Navigation) -> int:
        return self._places.setdefault(navigation, len(self._places))

    def _written(self, node: exp.Expr, place: int | None, parameters: frozenset[str]) -> exp.Expr:
        """Return ``node`` at the row with number ``place``; without one, each column is of the last row of its variable."""
        if isinstance(node, exp.Window | exp.Filter | exp.WithinGroup):
            raise error_at(node, "NOT_SUPPORTED", f"{node.key.upper()} is not supported in row pattern recognition")
        if without_children(node):
            result = node.copy()
        elif isinstance(node, exp.Column):
            result = self._column(node, place, parameters)
        elif is_call(node, "classifier"):
            number = self._place(Navigation(self._references.classified(node))) if place is None else place
            result = column(place_name(number, label=True), MATCH)
        elif is_call(node, "match_number"):
            result = column(NUMBER, MATCH)
        elif is_call(node, *_NAVIGATION):
            result = self._navigated(node, parameters)
        elif is_aggregate(node):
            result = self._aggregate(node)
        else:
            inside = parameters | _names(node)
            result = with_children(node, lambda child: self._written(child, place, inside))
        return result

    def _column(self, node: exp.Column, place: int | None, parameters: frozenset[str]) -> exp.Expr:
        labels, parts = self._references.rows_of(node)
        if parts[0].name.lower() in parameters:
            return node.copy()
        number = self._place(Navigation(labels)) if place is None else place
        return field_of(parts, rows_name(number))

    def _navigated(self, node: exp.Expr, parameters: frozenset[str]) -> exp.Expr:
        navigation, inner = self._references.navigation(node)
        number = self._place(navigation)
        value = self._written(inner, number, parameters)
        if isinstance(inner, exp.Column) or is_call(inner, "classifier"):
            return value
        exists = exp.Not(this=exp.Is(this=column(place_name(number), MATCH), expression=exp.Null()))
        return exp.Case(ifs=[exp.If(this=exists, true=value)])

    def _aggregate(self, node: exp.Expr) -> exp.Expr:
        """Return an aggregate as a window over the rows of the match that are labelled with its variables."""
        starred = next(iter(node.iter_expressions()), None) if is_call(node, "count") else None
        if isinstance(starred, exp.Column) and isinstance(starred.this, exp.Star):
            labels = self._references.rows_of(exp.Column(this=exp.to_identifier("x"), table=starred.args["table"].copy()))[0]
            call: exp.Expr = rebuilt(node, {"this": node.this, "expressions": [exp.Star()]})
        else:
            labels = self._references.all_rows(node) or self._references.universal
            call = with_children(node, lambda child: self._argument(node, child, frozenset()))
        rows = exp.Where(this=_labelled(labels))
        last = "UNBOUNDED" if self._one_row or node.meta.get(MODE) == "FINAL" else "CURRENT ROW"
        frame = exp.WindowSpec(
            kind="ROWS",
            start="UNBOUNDED",
            start_side="PRECEDING",
            end=last,
            end_side="FOLLOWING" if last == "UNBOUNDED" else None,
        )
        order = exp.Order(expressions=[exp.Ordered(this=column(SEQUENCE, MATCH))])
        self.aggregates.append(
            exp.Window(
                this=exp.Filter(this=call, expression=rows),
                partition_by=[column(PARTITION, MATCH), column(NUMBER, MATCH)],
                order=order,
                spec=frame,
                over="OVER",
            )
        )
        return column(aggregate_name(len(self.aggregates) - 1), MATCH)

    def _argument(self, aggregate: exp.Expr, node: exp.Expr, parameters: frozenset[str]) -> exp.Expr:
        if without_children(node):
            return node.copy()
        if is_aggregate(node) or is_call(node, *_NAVIGATION):
            message = f"Cannot nest {node.name} function inside {aggregate.name} aggregate function"
            raise error_at(node, "NESTED_AGGREGATION" if is_aggregate(node) else "INVALID_NAVIGATION_NESTING", message)
        if isinstance(node, exp.Column):
            parts = self._references.rows_of(node)[1]
            return node.copy() if parts[0].name.lower() in parameters else field_of(parts, OWN)
        if is_call(node, "classifier"):
            return column(LABEL, MATCH)
        if is_call(node, "match_number"):
            return column(NUMBER, MATCH)
        inside = parameters | _names(node)
        return with_children(node, lambda child: self._argument(aggregate, child, inside))


def _names(node: exp.Expr) -> frozenset[str]:
    """Return the parameters of a lambda."""
    return (
        frozenset(expression.name.lower() for expression in node.expressions)
        if isinstance(node, exp.Lambda)
        else frozenset()
    )


def _labelled(labels: Labels) -> exp.Expr:
    return exp.In(this=column(LABEL, MATCH), expressions=[exp.Literal.string(label) for label in labels])

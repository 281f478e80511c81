"""Conditions of DEFINE: what each row tells by itself becomes a column, and the rest a small expression for the matcher.

A part that reads the current row, and rows of the partition at a distance from it, is computed by the engine beforehand. So
is a function of the values of one row that a navigation finds. What combines several such rows, aggregates and variables of
rows is left to the matcher, which knows the operators in :data:`_OPERATORS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from sqlglot import exp

from penstock.sql.patterns.measures import field_of, with_children
from penstock.sql.patterns.navigation import Navigation, References, error_at, is_aggregate, is_call, without_children
from penstock.sql.patterns.recognition import MODE, Labels

__all__ = ["Conditions", "Expression"]

Expression = list[Any]
"""An operator and its operands; a value of a row is ``["value", column, place]``."""

_OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.And: "and",
    exp.Or: "or",
    exp.Not: "not",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Neg: "negate",
    exp.Between: "between",
}
_AGGREGATES = ("count", "sum", "min", "max", "avg")
_NAVIGATION = ("first", "last", "prev", "next")
_UNITS = ("millisecond", "second", "minute", "hour", "day", "week")


class Conditions:
    """Writes the conditions of one clause; ``rows`` is the relation of the input, ordered by ``windows``."""

    def __init__(self, references: References, rows: str, windows: Callable[[exp.Expr, int], exp.Expr]) -> None:
        self._references = references
        self._rows = rows
        self._at_distance = windows
        self._label = ""
        self.columns: list[exp.Expr] = []
        """What is computed for each row."""
        self.of_no_row: list[exp.Expr | None] = []
        """For each column, the expression whose value over NULLs it has where there is no row; None if that is NULL."""
        self.checks: list[exp.Expr] = []
        """Expressions with the types of whole conditions, which are never computed."""
        self.places: dict[Navigation, int] = {}
        self.aggregates: dict[tuple[str, Labels, int | None], int] = {}

    def write(self, label: str, node: exp.Expr) -> Expression:
        """Return the condition of the variable ``label``. Raises :class:`StatementError`."""
        self._label = label
        result = self._written(node)
        if result[0] != "value" or result[2] is not None:
            self.checks.append(self._typed(node))
        else:
            self.columns[result[1]] = exp.And(this=exp.paren(self.columns[result[1]], copy=False), expression=exp.true())
        return result

    def _current(self, labels: Labels) -> Navigation | None:
        """Return where a column of ``labels`` is; None is the current row, the last one of its own variable."""
        return None if self._label in labels else Navigation(labels)

    def _where(self, node: exp.Expr) -> Navigation | None:
        """Return the row that a call of a navigation function goes to; the distance of the current row is left in it."""
        navigation, _ = self._references.navigation(node)
        if self._label in navigation.labels and not navigation.first and not navigation.logical:
            return None
        return navigation

    def _places_of(self, node: exp.Expr, parameters: frozenset[str] = frozenset()) -> Iterator[Navigation | str | None]:
        """Yield each row that ``node`` reads, None for the current one; or what no row tells by itself."""
        if without_children(node):
            return
        if isinstance(node, exp.Column):
            labels, parts = self._references.rows_of(node)
            if parts[0].name.lower() not in parameters:
                yield self._current(labels)
        elif is_call(node, "classifier"):
            yield "label" if self._current(self._references.classified(node)) is not None else None
        elif is_call(node, "match_number"):
            yield "number"
        elif is_aggregate(node):
            yield "aggregate"
        elif is_call(node, *_NAVIGATION):
            where = self._where(node)
            navigation, inner = self._references.navigation(node)
            labelled = any(is_call(item, "classifier") for item in inner.walk())
            yield "label" if labelled and (where is not None or navigation.physical) else where
        else:
            if isinstance(node, exp.Lambda):
                parameters |= {expression.name.lower() for expression in node.expressions}
            for child in node.iter_expressions():
                yield from self._places_of(child, parameters)

    def _written(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Paren):
            return self._written(node.this)
        if isinstance(node, exp.Window | exp.Filter | exp.WithinGroup):
            raise error_at(node, "NOT_SUPPORTED", f"{node.key.upper()} is not supported in row pattern recognition")
        places = set(self._places_of(node))
        if not places - {None} and not isinstance(node, exp.And):
            return self._value(self._plain(node), None)
        if len(places) == 1 and isinstance(where := next(iter(places)), Navigation):
            return self._of_one_row(node, where)
        return self._operated(node)

    def _value(self, computed: exp.Expr, where: Navigation | None, of_no_row: exp.Expr | None = None) -> Expression:
        self.columns.append(computed)
        self.of_no_row.append(of_no_row)
        return ["value", len(self.columns) - 1, self._number(where)]

    def _number(self, where: Navigation | None) -> int | None:
        return None if where is None else self.places.setdefault(where, len(self.places))

    def _of_one_row(self, node: exp.Expr, where: Navigation) -> Expression:
        if isinstance(node, exp.Column):
            return self._value(self._plain(node), where)
        if is_call(node, *_NAVIGATION):
            return self._value(self._plain(self._references.navigation(node)[1]), where)
        return self._value(self._plain(node, at="row"), where, self._plain(node, at="no_row"))

    def _plain(
        self, node: exp.Expr, *, at: Literal["", "row", "no_row"] = "", parameters: frozenset[str] = frozenset()
    ) -> exp.Expr:
        """Return ``node`` over the columns of the current row, or ``at`` the row that its navigations go to.

        Where that is ``no_row``, the navigations are NULL.
        """
        if without_children(node):
            return node.copy()
        if isinstance(node, exp.Column):
            parts = self._references.rows_of(node)[1]
            return node.copy() if parts[0].name.lower() in parameters else field_of(parts, self._rows)
        if is_call(node, "classifier"):
            return exp.cast(exp.Literal.string(self._label), "varchar")
        if is_call(node, *_NAVIGATION):
            navigation, inner = self._references.navigation(node)
            value = self._plain(inner, parameters=parameters)
            if at == "no_row":
                return exp.Case(ifs=[exp.If(this=exp.false(), true=value)])
            return value if at or not navigation.physical else self._at_distance(value, navigation.physical)
        if isinstance(node, exp.Lambda):
            parameters |= {expression.name.lower() for expression in node.expressions}
        return with_children(node, lambda child: self._plain(child, at=at, parameters=parameters))

    def _operated(self, node: exp.Expr) -> Expression:
        operator = _OPERATORS.get(type(node))
        if operator == "between":
            result = [operator, *(self._written(node.args[name]) for name in ("this", "low", "high"))]
        elif operator is not None:
            parts = [self._written(child) for child in node.iter_expressions()]
            # What a row tells by itself comes first.
            result = [operator, *(sorted(parts, key=lambda part: part[0] != "value") if operator == "and" else parts)]
        elif isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            result = ["is null", self._written(node.this)]
        elif isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
            same = ["same", self._written(node.this), self._written(node.expression)]
            result = same if isinstance(node, exp.NullSafeEQ) else ["not", same]
        elif isinstance(node, exp.In) and node.expressions and node.args.get("query") is None:
            result = ["in", self._written(node.this), *map(self._written, node.expressions)]
        else:
            result = self._aggregate(node) if is_aggregate(node) else self._called(node)
        return result

    def _called(self, node: exp.Expr) -> Expression:
        if is_call(node, "classifier"):
            return ["label", self._number(self._current(self._references.classified(node)))]
        if is_call(node, "match_number"):
            return ["number"]
        if is_call(node, *_NAVIGATION):
            navigation, inner = self._references.navigation(node)
            if is_call(inner, "classifier"):
                return ["label", self._number(navigation)]
            raise self._unserved(node, "CLASSIFIER within an expression of a navigation function")
        if is_call(node, "coalesce", "abs"):
            return [node.name.lower(), *map(self._written, node.expressions)]
        if is_call(node, "date_diff") and len(node.expressions) == 3:
            unit = node.expressions[0]
            if isinstance(unit, exp.Literal) and unit.is_string and unit.name.lower() in _UNITS:
                return ["date_diff", unit.name.lower(), *map(self._written, node.expressions[1:])]
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key.upper()
        raise self._unserved(node, f"'{name}' over several rows, or over what the match has so far")

    @staticmethod
    def _unserved(node: exp.Expr, what: str) -> Exception:
        error = error_at(node, "NOT_SUPPORTED", f"In DEFINE, {what} is not supported.")
        error.remedy = "Compare values of rows by operators, or compute the value in MEASURES."
        return error

    def _aggregate(self, node: exp.Expr) -> Expression:
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key
        if node.meta.get(MODE) == "FINAL":
            raise error_at(node, "INVALID_PROCESSING_MODE", "FINAL semantics is not supported in DEFINE clause")
        arguments: Sequence[exp.Expr] = list(node.iter_expressions())
        plain = not any(isinstance(argument, exp.Distinct | exp.Order) for argument in arguments)
        if name not in _AGGREGATES or not isinstance(node, exp.Anonymous) or not plain or len(arguments) > 1:
            raise self._unserved(node, f"the aggregate {node.sql('trino')[:60]}")
        inner = arguments[0] if arguments else exp.Star()
        if name == "count" and isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star):
            labels = self._references.rows_of(exp.Column(this=exp.to_identifier("x"), table=inner.args["table"].copy()))[0]
            return self._aggregated(name, labels, None)
        if name == "count" and isinstance(inner, exp.Star):
            return self._aggregated(name, self._references.universal, None)
        labels = self._references.all_rows(inner) or self._references.universal
        if any(is_aggregate(item) or is_call(item, *_NAVIGATION) for item in inner.walk()):
            raise error_at(node, "INVALID_NAVIGATION_NESTING", "Cannot nest functions of rows inside an aggregate function")
        if any(is_call(item, "classifier", "match_number") for item in inner.walk()):
            raise self._unserved(node, f"the aggregate {node.sql('trino')[:60]}")
        return self._aggregated(name, labels, self._value(self._plain(inner), None)[1])

    def _aggregated(self, name: str, labels: Labels, argument: int | None) -> Expression:
        return ["aggregate", self.aggregates.setdefault((name, labels, argument), len(self.aggregates))]

    def _typed(self, node: exp.Expr) -> exp.Expr:
        """Return an expression with the types of ``node``, by which the engine and its translation check it."""
        whole = exp.And(this=exp.paren(self._stand_in(node, frozenset()), copy=False), expression=exp.true())
        return exp.Case(ifs=[exp.If(this=exp.false(), true=whole)])

    def _stand_in(self, node: exp.Expr, parameters: frozenset[str]) -> exp.Expr:
        if without_children(node) or isinstance(node, exp.Column):
            return self._plain(node, parameters=parameters)
        if is_call(node, "classifier", "match_number"):
            return exp.cast(exp.Null(), "varchar" if is_call(node, "classifier") else "bigint")
        if is_call(node, *_NAVIGATION):
            return self._stand_in(self._references.navigation(node)[1], parameters)
        if is_aggregate(node):
            starred = any(isinstance(item, exp.Star) for item in node.walk())
            call = with_children(node, lambda child: exp.Star() if starred else self._stand_in(child, parameters))
            return exp.Window(this=call, over="OVER")
        if isinstance(node, exp.Lambda):
            parameters |= {expression.name.lower() for expression in node.expressions}
        return with_children(node, lambda child: self._stand_in(child, parameters))

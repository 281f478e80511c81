"""The query that a MATCH_RECOGNIZE stands for: its rows in order, the matcher over each partition, and what the match tells.

The rows of the input get numbers, each partition's conditions go as lists to the matcher, and its answer is joined with the
rows again: the row itself, and each row that a navigation in MEASURES finds. It is written in Trino's own dialect, before
anything is translated, so names and types follow the rules that they follow everywhere.
"""

import json
from collections.abc import Iterable, Sequence

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.patterns.conditions import Conditions
from penstock.sql.patterns.measures import (
    LABEL,
    MATCH,
    NUMBER,
    OWN,
    PARTITION,
    SEQUENCE,
    Measures,
    aggregate_name,
    column,
    place_name,
    rows_name,
)
from penstock.sql.patterns.navigation import Navigation, References, error_at
from penstock.sql.patterns.pattern import program
from penstock.sql.patterns.recognition import FAULT, RECOGNIZED, REST, Labels, Recognition, Variables
from penstock.sql.trino_types import BIGINT, BOOLEAN, VARCHAR, Type

__all__ = ["matches_type", "recognized"]

_MATCHER = "trino_match_rows"  # the engine's function, by patterns.matching
_ROWS = "trino_rows"
_PLACE, _SHOWN, _MATCHES, _ONE = "trino_place", "trino_shown", "trino_matches", "trino_one"
_LISTS, _NO_ROW, _VALUES = "trino_lists", "trino_no_row", "trino_values"


def matches_type() -> Type:
    """Return the type of the matcher's answer for a partition."""
    fields = {NUMBER: BIGINT, _PLACE: BIGINT, SEQUENCE: BIGINT, LABEL: VARCHAR, _SHOWN: BOOLEAN}
    lists = {"trino_places": Type.array(BIGINT), "trino_labels": Type.array(VARCHAR)}
    return Type.array(Type.row({**fields, **lists}.items()))


def recognized(clause: Recognition, alias: exp.TableAlias | None) -> exp.Expr:
    """Return the subquery for ``clause``; if there is none, one that carries the error until it is translated."""
    try:
        result = exp.Subquery(this=_Writer(clause).query(), alias=alias)
    except StatementError as error:
        result = exp.Subquery(this=exp.select("*").from_(clause.source.copy()), alias=alias)
        message = str(error.args[0]) if error.args else str(error)
        result.meta[FAULT] = (error.code, _bare(error, message), error.position, error.remedy)
    result.meta[RECOGNIZED] = True
    return result


def _bare(error: StatementError, message: str) -> str:
    where = f"{error.position}: " if error.position is not None else ""
    return message.removeprefix(f"{error.code}: {where}")


class _Writer:
    def __init__(self, clause: Recognition) -> None:
        self._clause = clause
        self._variables = Variables(clause)
        self._conditions = Conditions(References(self._variables, defining=True), _ROWS, _at_distance)
        labels = self._variables.primary
        self._tests = [
            self._conditions.write(label, self._variables.definitions[label])
            if label in self._variables.definitions
            else None
            for label in labels
        ]
        self._measures = Measures(References(self._variables, defining=False), one_row=clause.rows == "ONE")
        self._written = [(name, self._measures.write(expression)) for name, expression in clause.measures]

    def query(self) -> exp.Select:
        """Return the query. Raises :class:`StatementError`."""
        keys = [_column_of(node, node) for node in self._clause.partition]
        sorted_by = [
            _column_of(ordered.this if isinstance(ordered, exp.Ordered) else ordered, ordered)
            for ordered in self._clause.order
        ]
        outputs = [*keys, *(sorted_by if self._clause.rows != "ONE" else ())]
        if self._clause.rows == "ONE" and not outputs and not self._written:
            message = "MATCH_RECOGNIZE with ONE ROW PER MATCH needs PARTITION BY or MEASURES: the result has no columns."
            raise StatementError("NOT_SUPPORTED", message, remedy="Add MEASURES MATCH_NUMBER() AS n.")
        result = exp.Select(
            expressions=[
                exp.alias_(exp.Column(this=output.this.copy(), table=exp.to_identifier(OWN, quoted=True)), _name(output))
                for output in outputs
            ]
        )
        for name, expression in self._written:
            value = expression
            if self._clause.rows == "UNMATCHED":
                value = exp.Case(
                    ifs=[
                        exp.If(this=exp.Not(this=exp.Is(this=column(NUMBER, MATCH), expression=exp.Null())), true=expression)
                    ]
                )
            result.append("expressions", exp.Alias(this=value, alias=name.copy()))
        if self._clause.rows != "ONE":
            rest = exp.Column(this=exp.Star(), table=exp.to_identifier(OWN, quoted=True))
            rest.meta[REST] = [*(output.name.lower() for output in outputs), PARTITION, _PLACE]
            result.append("expressions", rest)
        result.set("from_", exp.From(this=_aliased(self._with_aggregates(), MATCH)))
        _join(result, OWN, column(_PLACE, MATCH))
        for number in range(len(self._measures.navigations)):
            _join(result, rows_name(number), column(place_name(number), MATCH), side="LEFT")
        if self._measures.aggregates:
            result.set("where", exp.Where(this=column(_SHOWN, MATCH)))
        order = [exp.Ordered(this=column(item, MATCH)) for item in (PARTITION, SEQUENCE)]
        result.set("order", exp.Order(expressions=order))
        numbered = exp.CTE(this=self._numbered(), alias=_alias(_ROWS), materialized=True)
        result.set("with_", exp.With(expressions=[numbered]))
        return result

    def _numbered(self) -> exp.Select:
        """Return the input's rows with the numbers of their partitions, and their own in them."""
        keys, order = self._clause.partition, self._clause.order
        partition: exp.Expr = exp.cast(exp.Literal.number(1), "bigint")
        if keys:
            by = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in keys])
            partition = exp.Window(this=_call("dense_rank"), order=by, over="OVER")
        place = exp.Window(
            this=_call("row_number"),
            partition_by=[key.copy() for key in keys],
            order=exp.Order(expressions=[node.copy() for node in order]) if order else None,
            over="OVER",
        )
        projections = [exp.Star(), _as(partition, PARTITION), _as(place, _PLACE)]
        return exp.Select(expressions=projections, from_=exp.From(this=self._clause.source.copy()))

    def _with_aggregates(self) -> exp.Select:
        matches = self._matches()
        if not self._measures.aggregates:
            return matches
        star = exp.Column(this=exp.Star(), table=exp.to_identifier(MATCH, quoted=True))
        values = [_as(aggregate, aggregate_name(number)) for number, aggregate in enumerate(self._measures.aggregates)]
        result = exp.Select(expressions=[star, *values], from_=exp.From(this=_aliased(matches, MATCH)))
        _join(result, OWN, column(_PLACE, MATCH))
        return result

    def _matches(self) -> exp.Select:
        """Return the rows of all matches, each with the numbers of the rows that the measures need."""
        fields = [field for field in matches_type().inner[0].fields if field is not None]  # type: ignore[union-attr]
        names = [exp.to_identifier(field, quoted=True) for field in fields]
        unnested = exp.Unnest(
            expressions=[column(_MATCHES, _LISTS)],
            alias=exp.TableAlias(this=exp.to_identifier(MATCH, quoted=True), columns=names),
            offset=False,
        )
        projections = [
            _as(column(PARTITION, _LISTS), PARTITION),
            *(_as(column(field, MATCH), field) for field in fields[:-2]),
        ]
        for number in range(len(self._measures.navigations)):
            for source, label in (("trino_places", False), ("trino_labels", True)):
                value = _call("element_at", column(source, MATCH), exp.Literal.number(number + 1))
                projections.append(_as(value, place_name(number, label=label)))
        result = exp.Select(expressions=projections, from_=exp.From(this=_aliased(self._matched(), _LISTS)))
        result.append("joins", exp.Join(this=unnested, kind="CROSS"))
        return result

    def _matched(self) -> exp.Select:
        """Return each partition's matches."""
        count = len(self._conditions.columns)
        no_row = [number for number, node in enumerate(self._conditions.of_no_row) if node is not None]
        values = [column(_nth(number), _LISTS) for number in range(count)]
        arguments = [exp.Literal.string(json.dumps(self._specification())), column(_PLACE, _LISTS), *values]
        call = _call(_MATCHER, *arguments, *(column(_nth(number), _NO_ROW) for number in no_row))
        call.meta[RECOGNIZED] = True
        projections = [_as(column(PARTITION, _LISTS), PARTITION), _as(call, _MATCHES)]
        result = exp.Select(expressions=projections, from_=exp.From(this=_aliased(self._lists(), _LISTS)))
        if no_row:
            result.append("joins", exp.Join(this=_aliased(self._of_no_row(no_row), _NO_ROW), kind="CROSS"))
        return result

    def _lists(self) -> exp.Select:
        """Return each partition's values, as lists in the order of its rows."""
        names = [_PLACE, *map(_nth, range(len(self._conditions.columns)))]
        lists = [_as(_call("array_agg", _ordered(column(name, _VALUES))), name) for name in names]
        key = column(PARTITION, _VALUES)
        return exp.Select(
            expressions=[_as(key.copy(), PARTITION), *lists],
            from_=exp.From(this=_aliased(self._values(), _VALUES)),
            group=exp.Group(expressions=[key]),
        )

    def _values(self) -> exp.Select:
        """Return what the conditions need of each row."""
        plain = [_as(column(name, _ROWS), name) for name in (PARTITION, _PLACE)]
        values = [_as(node, _nth(number)) for number, node in enumerate(self._conditions.columns)]
        checks = [_as(check, f"trino_check_{number}") for number, check in enumerate(self._conditions.checks)]
        return exp.Select(expressions=[*plain, *values, *checks], from_=exp.From(this=_rows(_ROWS)))

    def _of_no_row(self, numbers: Iterable[int]) -> exp.Select:
        """Return one row with the values where there is no row."""
        values = [(number, self._conditions.of_no_row[number]) for number in numbers]
        one = exp.Select(expressions=[_as(exp.Literal.number(1), _ONE)])
        result = exp.Select(
            expressions=[_as(node, _nth(number)) for number, node in values if node is not None],
            from_=exp.From(this=_aliased(one, _ONE)),
        )
        result.append("joins", exp.Join(this=_rows(_ROWS), side="LEFT", on=exp.false()))
        return result

    def _specification(self) -> dict[str, object]:
        labels = self._variables.primary
        skip, target = self._clause.skip
        members = self._variables.find(target) if target is not None else None
        return {
            "program": program(self._clause.pattern, labels),
            "labels": labels,
            "conditions": self._tests,
            "columns": len(self._conditions.columns),
            "no_row": [number for number, node in enumerate(self._conditions.of_no_row) if node is not None],
            "places": [_described(place, labels) for place in self._conditions.places],
            "aggregates": [
                [name, _numbers(members, labels), argument] for name, members, argument in self._conditions.aggregates
            ],
            "navigations": [_described(navigation, labels) for navigation in self._measures.navigations],
            "rows": self._clause.rows,
            "skip": [skip, _numbers(members, labels) if members is not None else []],
            "all": bool(self._measures.aggregates),
        }


def _described(navigation: Navigation, labels: Labels) -> Sequence[object]:
    members = _numbers(navigation.labels, labels)
    return [members, navigation.first, navigation.logical, navigation.physical, navigation.final]


def _numbers(members: Iterable[str], labels: Labels) -> list[int]:
    return [labels.index(member) for member in members]


def _nth(number: int) -> str:
    return f"trino_value_of_{number}"


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _as(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _aliased(query: exp.Select, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=_alias(name))


def _rows(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(_ROWS, quoted=True), alias=_alias(name))


def _ordered(value: exp.Expr) -> exp.Expr:
    return exp.Order(this=value, expressions=[exp.Ordered(this=column(_PLACE, _VALUES))])


def _join(query: exp.Select, name: str, place: exp.Expr, side: str | None = None) -> None:
    same = [(PARTITION, column(PARTITION, MATCH)), (_PLACE, place)]
    conditions = [exp.EQ(this=column(item, name), expression=value) for item, value in same]
    query.append("joins", exp.Join(this=_rows(name), side=side, on=exp.And(this=conditions[0], expression=conditions[1])))


def _at_distance(value: exp.Expr, distance: int) -> exp.Expr:
    """Return the value of the row at a distance in the partition, to the back if it is negative."""
    return exp.Window(
        this=_call("lag" if distance < 0 else "lead", value, exp.Literal.number(abs(distance))),
        partition_by=[column(PARTITION, _ROWS)],
        order=exp.Order(expressions=[exp.Ordered(this=column(_PLACE, _ROWS))]),
        over="OVER",
    )


def _column_of(node: exp.Expr, shown: exp.Expr) -> exp.Column:
    if not isinstance(node, exp.Column):
        message = f"Expected column reference. Actual: {shown.sql('trino')[:100]}"
        raise error_at(shown, "INVALID_COLUMN_REFERENCE", message)
    return node


def _name(node: exp.Column) -> exp.Identifier:
    name = node.this.copy()
    assert isinstance(name, exp.Identifier)
    return name

"""Comparisons with the rows of a subquery: ``IN``, and ``=``, ``<`` and the others with ``ANY``, ``SOME`` and ``ALL``.

Source: Trino's documentation, "Comparison functions and operators", "SELECT" (IN, quantified comparisons). Quantified
comparisons follow Trino's own plan for them, which compares with the least and the greatest of the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.sql.functions.build import integer, is_null
from penstock.sql.functions.nested.lambdas import applied, fresh, function
from penstock.sql.functions.nested.records import NESTED, equal, is_in
from penstock.sql.functions.rows import Call, call_engine
from penstock.sql.functions.times.zones import instant
from penstock.sql.trino_types import Type

__all__ = ["CORRELATED", "VALUES_ALIAS", "as_records", "in_subquery", "is_quantified", "quantified"]

CORRELATED = "penstock_correlated"
"""In the ``meta`` of a subquery that uses a column from around it."""
VALUES_ALIAS = "trino_values"
"""The name of a VALUES that stands where a query does."""

_ROWS = "trino_rows"
_COLUMN = "trino_column_{}"
_MANY = 100  # rows of constants, each of which is a condition of its own
_ZONED = "timestamp with time zone"

Compare = Callable[[Call], exp.Expr]


def is_quantified(node: exp.Expr) -> bool:
    """Whether ``node`` is a comparison with ANY, SOME or ALL rows of a subquery."""
    return isinstance(node, exp.Binary) and isinstance(node.expression, exp.Any | exp.All)


def in_subquery(call: Call, value: exp.Expr, query: exp.Expr) -> exp.Expr:
    """Return whether ``value`` is equal to a row of ``query``: true, false, or NULL where it may be.

    A row value is compared with as many columns, or with one column of rows.
    """
    type_, rows = call.types
    constants = _constants(query)
    if type_ is None or rows is None or not ({type_.name, rows.name} & {*NESTED, "char", _ZONED}):
        if constants and type_ is not None and not type_.is_floating:
            return exp.In(this=value, expressions=constants)  # by which partitions are chosen
        return exp.In(this=value, query=_in_brackets(query))
    is_plain = next(value.find_all(exp.Subquery, exp.Anonymous), None) is None  # it may stand there several times
    if constants and type_.name == "row" and len(constants) <= _MANY and is_plain:
        return is_in(type_, exp.In(this=value, expressions=constants))
    count = len(rows.inner) if rows.name == "row" and not _is_one_column(query) else 1
    if rows.name == "row" and not any(_is_nested(item) for item in rows.inner) and not _is_correlated(query):
        return _fields_in(type_, value, rows, query, count)
    if rows.name in NESTED:
        return _any_equal(type_, value, query, count)
    columns = _columns(1)
    inside = _select(query, 1, _plain(rows, columns[0]))
    return exp.In(this=_plain(type_, value), query=exp.Subquery(this=inside))


def quantified(call: Call, compare: Compare) -> exp.Expr:
    """Return ``value < ALL (query)`` and its like; ``compare`` writes a comparison of two values."""
    node = call.node
    value, query = node.this, node.expression.this
    every = isinstance(node.expression, exp.All)
    if isinstance(node, exp.EQ) and not every:
        return exp.paren(in_subquery(call, value, query), copy=False)
    if isinstance(node, exp.NEQ) and every:
        return exp.paren(exp.Not(this=in_subquery(call, value, query)), copy=False)
    if isinstance(node, exp.NEQ):
        return exp.paren(exp.Not(this=_bounded(call, compare, exp.EQ, value, query, every=True)), copy=False)
    return _bounded(call, compare, type(node), value, query, every=every)


def _bounded(
    call: Call, compare: Compare, sign: type[exp.Expr], value: exp.Expr, query: exp.Expr, *, every: bool
) -> exp.Expr:
    """Compare with the least or the greatest row, beside the empty set and NULL."""
    type_, rows = call.types
    (column,) = _columns(1)
    if rows is not None and rows.name == "row" and not _is_one_column(query):
        query, column = exp.Subquery(this=as_records(query, len(rows.inner))), _columns(1)[0]
    key = _plain(rows, column)
    greatest: exp.Expr = call_engine("max", key.copy())
    if rows is not None and rows.is_floating:  # NaN is the greatest only of NaNs
        numbers = exp.Case(ifs=[exp.If(this=exp.Not(this=call_engine("isnan", key.copy())), true=key.copy())])
        greatest = call_engine("coalesce", call_engine("max", numbers), greatest)
    counts = [call_engine("count", exp.Star()), call_engine("count", column.copy())]
    bounds = call_engine("row", *counts, call_engine("min", key.copy()), greatest)
    name = fresh("bounds", exp.Tuple(expressions=[value.copy()]))
    pair = exp.to_identifier(name)
    bound = call_engine("struct_extract_at", pair.copy(), exp.Literal.number(2))
    left = call_engine("struct_extract_at", pair.copy(), exp.Literal.number(1))
    count, known, least, most = (call_engine("struct_extract_at", bound.copy(), integer(at)) for at in (1, 2, 3, 4))
    empty: exp.Expr = exp.true() if every else exp.false()

    def compared(right: exp.Expr) -> exp.Expr:
        plain = sign(this=left.copy(), expression=right.copy())
        types = [_as_instant(type_), _as_instant(rows)]
        return compare(replace(call, node=plain, arguments=[plain.this, plain.expression], types=types))

    lowest = issubclass(sign, exp.LT | exp.LTE) == every
    result = compared(most if sign is exp.EQ or not lowest else least)
    if sign is exp.EQ:
        result = exp.and_(exp.EQ(this=least.copy(), expression=most.copy()), result, copy=False)
    unknown = exp.If(this=exp.NEQ(this=count.copy(), expression=known), true=exp.Null())
    others = exp.paren(exp.Case(ifs=[unknown], default=empty.copy()), copy=False)
    combined = (exp.and_ if every else exp.or_)(exp.paren(result, copy=False), others, copy=False)
    is_empty = exp.If(this=exp.EQ(this=count, expression=integer(0)), true=empty)
    case = exp.Case(ifs=[is_empty], default=combined)
    pair_of_bounds = call_engine("row", _plain(type_, value), exp.Subquery(this=_select(query, 1, bounds)))
    return applied(function(name, case), pair_of_bounds)


def _as_instant(type_: Type | None) -> Type | None:
    """Return the type of what :func:`_plain` makes of a value."""
    return Type("timestamp") if type_ is not None and type_.name == _ZONED else type_


def _fields_in(type_: Type, value: exp.Expr, rows: Type, query: exp.Expr, count: int) -> exp.Expr:
    """Compare field by field, which the engine does with Trino's NULLs; its comparison of records takes NULL for a value."""
    columns = _columns(count)
    if count > 1 and not any(item is not None and item.name in {"char", _ZONED} for item in (*rows.inner, *type_.inner)):
        return exp.In(this=exp.Tuple(expressions=list(_fields(type_, value))), query=_in_brackets(query))
    if count == 1:
        columns = [call_engine("struct_extract_at", columns[0].copy(), integer(at + 1)) for at in range(len(rows.inner))]
    columns_to_compare = [_plain(item, column) for item, column in zip(rows.inner, columns, strict=True)]
    fields = [_plain(item, field) for item, field in zip(type_.inner, _fields(type_, value), strict=True)]
    if len(fields) == 1:
        return exp.In(this=fields[0], query=exp.Subquery(this=_select(query, count, *columns_to_compare)))
    return exp.In(this=exp.Tuple(expressions=fields), query=exp.Subquery(this=_select(query, count, *columns_to_compare)))


def _any_equal(type_: Type, value: exp.Expr, query: exp.Expr, count: int) -> exp.Expr:
    """Compare with each row."""
    columns = _columns(count)
    right: exp.Expr = exp.Tuple(expressions=columns) if count > 1 else columns[0]
    is_equal = equal(type_, value, right)
    unknown = is_null(is_equal)
    any_equal = exp.If(this=call_engine("bool_or", is_equal), true=exp.true())
    perhaps = exp.If(this=call_engine("bool_or", unknown), true=exp.Null())
    case = exp.Case(ifs=[any_equal, perhaps], default=exp.false())
    return exp.Subquery(this=_select(query, count, case))


def _fields(type_: Type, value: exp.Expr) -> Sequence[exp.Expr]:
    inside = value.unnest()
    if isinstance(inside, exp.Tuple) and len(inside.expressions) == len(type_.inner):
        return [expression.copy() for expression in inside.expressions]
    return [call_engine("struct_extract_at", value.copy(), integer(at + 1)) for at in range(len(type_.inner))]


def _plain(type_: Type | None, value: exp.Expr) -> exp.Expr:
    """Return what the engine's own comparison of ``value`` is right for."""
    if type_ is not None and type_.name == _ZONED:
        return instant(value.copy())
    if type_ is not None and type_.name == "char":
        return call_engine("rtrim", value.copy(), exp.Literal.string(" "))
    return value.copy()


def _is_nested(type_: Type | None) -> bool:
    return type_ is None or type_.name in NESTED


def _is_one_column(query: exp.Expr) -> bool:
    """Whether ``query``, whose rows have a row type, has one column of that type."""
    while isinstance(query, exp.Subquery | exp.SetOperation):
        query = query.this
    if isinstance(query, exp.Values):
        first = query.expressions[0]
        return not isinstance(first, exp.Tuple) or len(first.expressions) == 1
    return isinstance(query, exp.Select) and len(query.expressions) == 1 and not query.is_star


def _constants(query: exp.Expr) -> list[exp.Expr]:
    """Return the rows of a VALUES of constants; empty for every other query."""
    inside = query
    while isinstance(inside, exp.Subquery):
        inside = inside.this
    source = inside.args.get("from_") if isinstance(inside, exp.Select) else None
    rows = source.this if source is not None else None
    if not isinstance(rows, exp.Values) or rows.alias != VALUES_ALIAS:
        return []
    constants: list[exp.Expr] = []
    for row in rows.expressions:
        fields = row.expressions if isinstance(row, exp.Tuple) else [row]
        if not all(isinstance(field, exp.Literal | exp.Null | exp.Boolean) for field in fields):
            return []
        constants.append(exp.Tuple(expressions=[field.copy() for field in fields]) if len(fields) > 1 else fields[0].copy())
    return constants


def _is_correlated(query: exp.Expr) -> bool:
    while isinstance(query, exp.Subquery):
        query = query.this
    return bool(query.meta.get(CORRELATED))


def _columns(count: int) -> list[exp.Expr]:
    return [exp.column(_COLUMN.format(at)) for at in range(count)]


def as_records(query: exp.Expr, count: int) -> exp.Select:
    """Return the query for the rows of ``query``, which has ``count`` columns, as one column of records."""
    return _select(query, count, call_engine("row", *_columns(count)))


def _select(query: exp.Expr, count: int, *projections: exp.Expr) -> exp.Select:
    """Return ``SELECT projections FROM (query) AS trino_rows (trino_column_0, ...)``."""
    alias = exp.TableAlias(
        this=exp.to_identifier(_ROWS), columns=[exp.to_identifier(_COLUMN.format(at)) for at in range(count)]
    )
    inside = query.copy()
    while isinstance(inside, exp.Subquery) and not inside.alias and len([arg for arg in inside.args.values() if arg]) == 1:
        inside = inside.this
    return exp.Select(expressions=list(projections), from_=exp.From(this=exp.Subquery(this=inside, alias=alias)))


def _in_brackets(query: exp.Expr) -> exp.Expr:
    return query if isinstance(query, exp.Subquery) else exp.Subquery(this=query)

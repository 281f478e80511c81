"""What a query reads and how: joins, UNNEST, FETCH FIRST WITH TIES; and the clauses of other dialects, which are refused.

Source: Trino's documentation, "SELECT".
"""

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.functions.rows import call_engine
from penstock.sql.functions.scalars.subqueries import VALUES_ALIAS
from penstock.sql.patterns.recognition import FAULT
from penstock.sql.positions import position_of
from penstock.sql.trino_types import BIGINT, Type

__all__ = [
    "check_map_keys",
    "check_relations",
    "expand_rows",
    "name_values",
    "unnested",
    "unnested_columns",
    "with_ties",
]

TypeOf = Callable[[exp.Expr], Type | None]
_Columns = list[tuple[str, Type | None]]

_JOIN_KINDS = {"", "INNER", "CROSS", "OUTER"}
_SAMPLES = {"BERNOULLI", "SYSTEM"}
_ROW = "trino_row_{}"  # an element before its fields become columns


def check_relations(tree: exp.Expr) -> None:
    """Raise :class:`StatementError` for a clause that Trino does not have, or that is not served."""
    for node in tree.walk():
        if FAULT in node.meta:
            code, message, position, remedy = node.meta[FAULT]
            raise StatementError(code, message, position=position, remedy=remedy)
        refused = _refused(node)
        if refused is not None:
            what, remedy = refused
            raise StatementError("NOT_SUPPORTED", f"{what} is not supported.", position=position_of(node), remedy=remedy)


def _refused(node: exp.Expr) -> tuple[str, str | None] | None:
    for node_class, check in _CHECKS.items():
        if isinstance(node, node_class):
            return check(node)
    return None


def _join(node: exp.Expr) -> tuple[str, str | None] | None:
    method, kind = str(node.args.get("method") or ""), str(node.args.get("kind") or "")
    if method or kind.upper() not in _JOIN_KINDS:
        return f"{method} {kind} JOIN".replace("  ", " ").strip(), "Use JOIN with ON or USING."
    return None


def _select(node: exp.Expr) -> tuple[str, str | None] | None:
    distinct = node.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and distinct.args.get("on") is not None:
        return "DISTINCT ON", "Use row_number() in a subquery."
    for name, what in (("qualify", "QUALIFY"), ("locks", "FOR UPDATE"), ("into", "INTO")):
        if node.args.get(name):
            return what, None
    return None


def _fetch(node: exp.Expr) -> tuple[str, str | None] | None:
    options = node.args.get("limit_options")
    return ("FETCH FIRST with PERCENT", None) if options is not None and options.args.get("percent") else None


def _star(node: exp.Expr) -> tuple[str, str | None] | None:
    for name, what in (("except_", "EXCEPT or EXCLUDE"), ("replace", "REPLACE"), ("rename", "RENAME")):
        if node.args.get(name):
            return f"* with {what}", "Name the columns."
    return None


def _sample(node: exp.Expr) -> tuple[str, str | None] | None:
    method = str(node.args.get("method") or "").upper()
    if method not in _SAMPLES or node.args.get("size") is not None:
        return f"TABLESAMPLE {method}".strip(), "Use TABLESAMPLE BERNOULLI (percentage)."
    return None


def _flag(name: str, what: str) -> Callable[[exp.Expr], tuple[str, str | None] | None]:
    return lambda node: (what, None) if node.args.get(name) else None


def _always(what: str, remedy: str | None = None) -> Callable[[exp.Expr], tuple[str, str | None] | None]:
    return lambda _: (what, remedy)


_CHECKS: dict[type[exp.Expr], Callable[[exp.Expr], tuple[str, str | None] | None]] = {
    exp.Join: _join,
    exp.Select: _select,
    exp.Fetch: _fetch,
    exp.Star: _star,
    exp.TableSample: _sample,
    exp.SetOperation: _flag("by_name", "BY NAME"),
    exp.Group: _flag("all", "GROUP BY ALL"),
    exp.WindowSpec: _flag("exclude", "EXCLUDE in a window's frame"),
    exp.Lateral: _flag("view", "LATERAL VIEW"),
    exp.Pivot: _always("PIVOT or UNPIVOT", "Use aggregate functions with FILTER, or UNNEST."),
    exp.Aliases: _always("* AS (names)", "Name the columns."),
    exp.Lock: _always("FOR UPDATE"),
}


def expand_rows(node: exp.Values) -> None:
    """Make the fields of ``VALUES ROW(1, 2)`` columns, as those of ``VALUES (1, 2)`` are."""
    for line in node.expressions:
        only = line.expressions[0].unnest() if isinstance(line, exp.Tuple) and len(line.expressions) == 1 else line
        if isinstance(only, exp.Anonymous) and only.name.lower() == "row":
            line.replace(exp.Tuple(expressions=only.expressions))


def name_values(tree: exp.Expr) -> None:
    """Give names to the columns of each VALUES that stands where a query does, and not behind FROM."""
    for node in list(tree.find_all(exp.Values)):
        above = node.parent.parent if isinstance(node.parent, exp.Subquery) else node.parent
        if node.alias or above is None or isinstance(above, exp.From | exp.Join | exp.Lateral | exp.CTE | exp.SetOperation):
            continue
        expand_rows(node)
        first = node.expressions[0]
        count = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        names = [exp.to_identifier(f"trino_value_{at}") for at in range(count)]
        place = node.parent if isinstance(node.parent, exp.Subquery) else node
        alias = exp.TableAlias(this=exp.to_identifier(VALUES_ALIAS), columns=names)
        rows = exp.Values(expressions=[expression.copy() for expression in node.expressions], alias=alias)
        query = exp.select(*(exp.column(name.copy()) for name in names)).from_(rows)
        place.replace(exp.Subquery(this=query))


# UNNEST


def _named(node: exp.Unnest) -> tuple[list[str], str | None]:
    """Return the names that the query gives the columns, and that of the ordinality."""
    names = list(node.alias_column_names)
    offset = node.args.get("offset")
    if isinstance(offset, exp.Identifier):
        return names, offset.name
    return names, "ordinality" if offset else None


def _parts(node: exp.Unnest, type_of: TypeOf) -> Iterator[tuple[exp.Expr, Type]]:
    for expression in node.expressions:
        type_ = type_of(expression)
        if type_ is None or type_.name not in {"array", "map"}:
            shown = "not known" if type_ is None else str(type_)
            raise StatementError(
                "NOT_SUPPORTED" if type_ is None else "TYPE_MISMATCH",
                f"Cannot unnest a value whose type is {shown}.",
                position=position_of(node),
                remedy="CAST it to its array or map type.",
            )
        yield expression, type_


def _fields(type_: Type) -> Sequence[tuple[str | None, Type | None]]:
    """Return the columns that an array or a map becomes."""
    inside = type_.inner[0]
    if type_.name == "map":
        return [(None, inside), (None, type_.inner[1])]
    if inside is not None and inside.name == "row":
        return list(zip(inside.fields, inside.inner, strict=True))
    return [(None, inside)]


def unnested_columns(node: exp.Unnest, type_of: TypeOf) -> _Columns:
    """Return the columns of an UNNEST with their types. Raises :class:`StatementError` for what cannot be unnested."""
    names, ordinality = _named(node)
    fields = [field for _, type_ in _parts(node, type_of) for field in _fields(type_)]
    if names and len(names) != len(fields):
        count = len(fields) + (ordinality is not None)
        raise StatementError(
            "MISMATCHED_COLUMN_ALIASES",
            f"Column alias list has {len(names) + (ordinality is not None)} entries but relation has {count} columns",
            position=position_of(node),
        )
    columns = [(names[at] if names else name or f"_col{at}", type_) for at, (name, type_) in enumerate(fields)]
    if ordinality is not None:
        columns.append((ordinality, BIGINT))
    return [(name.lower(), type_) for name, type_ in columns]


def unnested(node: exp.Unnest, type_of: TypeOf) -> exp.Expr:
    """Return the engine's subquery for an UNNEST whose arguments are translated.

    The engine's own UNNEST takes one array. Several ``unnest`` in one SELECT are as long as the longest, as Trino's are.
    """
    names = [name for name, _ in unnested_columns(node, type_of)]
    inner: list[exp.Expr] = []
    outer: list[exp.Expr] = []
    for value, type_ in _parts(node, type_of):
        sources = [value.copy()]
        if type_.name == "map":
            sources = [call_engine("map_keys", value.copy()), call_engine("map_values", value.copy())]
        for source in sources:
            inner.append(exp.alias_(call_engine("unnest", source), _ROW.format(len(inner)), quoted=True))
            outer += _elements(type_, inner[-1].alias)
    if node.args.get("offset"):
        inner.append(exp.alias_(_ordinality(node.expressions), _ROW.format(len(inner)), quoted=True))
        outer.append(exp.column(inner[-1].alias, quoted=True))
    projections = [exp.alias_(item, name, quoted=True) for item, name in zip(outer, names, strict=True)]
    query = exp.select(*projections).from_(exp.select(*inner).subquery("trino_unnested"))
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias):
        alias = exp.TableAlias(this=alias.this.copy()) if alias.this is not None else None
    if isinstance(node.parent, exp.From):
        return exp.Subquery(this=query, alias=alias)
    return exp.Lateral(this=exp.Subquery(this=query), alias=alias)


def _elements(type_: Type, name: str) -> Sequence[exp.Expr]:
    """Return the columns of an unnested element: the fields of a row, or itself."""
    element = exp.column(name, quoted=True)
    inside = type_.inner[0]
    if type_.name != "array" or inside is None or inside.name != "row":
        return [element]
    return [call_engine("struct_extract_at", element.copy(), exp.Literal.number(at + 1)) for at in range(len(inside.inner))]


def _ordinality(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the numbers from 1 to the length of the longest of ``values``."""
    lengths = [call_engine("coalesce", call_engine("cardinality", node.copy()), exp.Literal.number(0)) for node in values]
    longest = lengths[0] if len(lengths) == 1 else call_engine("greatest", *lengths)
    end = exp.Add(this=exp.cast(longest, "BIGINT"), expression=exp.Literal.number(1))
    return call_engine("unnest", call_engine("range", exp.Literal.number(1), end))


def check_map_keys(tree: exp.Expr, type_of: TypeOf) -> None:
    """Raise :class:`StatementError` for GROUP BY and DISTINCT over maps: the engine compares the order of their entries."""
    for select in tree.find_all(exp.Select):
        keys = list(select.expressions) if select.args.get("distinct") else []
        group = select.args.get("group")
        for key in group.expressions if group is not None else ():
            number = int(key.name) if isinstance(key, exp.Literal) and key.name.isdigit() else 0
            keys.append(select.expressions[number - 1] if 0 < number <= len(select.expressions) else key)
        for key in keys:
            type_ = type_of(key)
            if type_ is not None and type_.name == "map":
                raise StatementError(
                    "NOT_SUPPORTED",
                    f"Grouping by {type_} is not supported.",
                    position=position_of(key),
                    remedy="Group by array_sort(map_entries(x)).",
                )


# FETCH FIRST n ROWS WITH TIES


def with_ties(tree: exp.Expr) -> None:
    """Write every FETCH FIRST WITH TIES of a translated tree as a condition on the rank.

    Raises :class:`StatementError` where that is not possible.
    """
    for fetch in list(tree.find_all(exp.Fetch)):
        options = fetch.args.get("limit_options")
        if options is None or not options.args.get("with_ties"):
            continue
        query = fetch.parent
        order = query.args.get("order") if query is not None else None
        if order is None:
            raise StatementError(
                "SYNTAX_ERROR", "FETCH FIRST WITH TIES clause requires ORDER BY", position=position_of(fetch)
            )
        if not isinstance(query, exp.Select) or query.args.get("distinct"):
            raise StatementError(
                "NOT_SUPPORTED",
                "FETCH FIRST WITH TIES is not supported with DISTINCT, UNION, INTERSECT or EXCEPT.",
                position=position_of(fetch),
                remedy="Put that query into a subquery.",
            )
        keys = [_resolved(expression, query) for expression in order.expressions]
        rank = exp.Window(this=call_engine("rank"), order=exp.Order(expressions=keys), over="OVER")
        last: exp.Expr = fetch.args.get("count") or exp.Literal.number(1)
        offset = query.args.get("offset")
        if offset is not None:
            last = exp.Add(this=last.copy(), expression=exp.paren(offset.expression.copy(), copy=False))
        query.set("limit", None)
        query.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=exp.paren(last.copy(), copy=False))))


def _resolved(key: exp.Expr, query: exp.Select) -> exp.Expr:
    """Return a sort key in which a number or an alias of a result column is its expression."""
    copy = key.copy()
    inside = copy.this
    if isinstance(inside, exp.Literal) and not inside.is_string and inside.name.isdigit():
        number = int(inside.name)
        if not 0 < number <= len(query.expressions) or any(expression.is_star for expression in query.expressions):
            raise StatementError(
                "NOT_SUPPORTED", "This ORDER BY is not supported with FETCH FIRST WITH TIES.", remedy="Order by expressions."
            )
        copy.set("this", query.expressions[number - 1].unalias().copy())
    elif isinstance(inside, exp.Column) and not inside.table:
        named = [
            expression
            for expression in query.expressions
            if isinstance(expression, exp.Alias) and expression.alias.lower() == inside.name.lower()
        ]
        if named:
            copy.set("this", exp.paren(named[0].unalias().copy(), copy=False))
    return copy

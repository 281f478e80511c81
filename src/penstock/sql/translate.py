"""Translate a query in Trino's dialect to the engine's: every call and operator by its row of the table of functions.

What has no row is refused by name; the engine gets no call that was not translated. On the way each expression gets
Trino's type where it is known, because Trino's rules are about types.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from penstock.sql.errors import StatementError
from penstock.sql.functions.rows import Call, Row, Types, call_engine
from penstock.sql.functions.scalars.subqueries import as_records
from penstock.sql.functions.table import BY_NAME, row_of
from penstock.sql.names.clauses import check_clauses, with_output_names
from penstock.sql.names.suggestions import did_you_mean
from penstock.sql.once import Costly, has_rows_value, note_rows_value, tried, written_once
from penstock.sql.parameters import infer
from penstock.sql.patterns.recognition import RECOGNIZED
from penstock.sql.patterns.writing import matches_type
from penstock.sql.positions import position_of
from penstock.sql.relations import check_map_keys, check_relations, expand_rows, name_values, unnested, with_ties
from penstock.sql.scopes import Columns, Scopes, field_type
from penstock.sql.trino_types import BIGINT, BOOLEAN, DOUBLE, INTEGER, UNKNOWN, Type
from penstock.sql.zone_keys import guard_zones

__all__ = ["Translation", "to_engine"]

# Nodes that make up a query and compute nothing.
_STRUCTURE = (
    *(exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset),
    *(exp.Fetch, exp.LimitOptions, exp.With, exp.CTE, exp.Subquery, exp.Table, exp.TableAlias, exp.Identifier, exp.Column),
    *(exp.Star, exp.Alias, exp.Aliases, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Tuple, exp.Var, exp.DataType),
    *(exp.DataTypeParam, exp.Values, exp.Union, exp.Intersect, exp.Except, exp.Distinct, exp.Lambda, exp.Window),
    *(exp.WindowSpec, exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Unnest, exp.Lateral, exp.Cube),
    *(exp.Rollup, exp.GroupingSets, exp.TableSample, exp.ColumnDef, exp.Dot, exp.OverflowTruncateBehavior),
)
_CONDITIONS: Mapping[type[exp.Expr], str] = {exp.Where: "WHERE", exp.Having: "HAVING", exp.Join: "JOIN ON"}
_AROUND = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Window)
_AS_INSIDE = (exp.Paren, exp.Alias, exp.Order, exp.Ordered)


def to_engine(tree: exp.Query, columns: Columns) -> Sequence[Type | None]:
    """Translate ``tree`` in place. Return Trino's types of its result columns, empty if their number is not known.

    Raises :class:`StatementError` for what is refused.
    """
    return Translation(columns).run(tree)


class Translation:
    """One translation, of one tree. A subclass writes the calls in the words of another engine."""

    def __init__(self, columns: Columns) -> None:
        self._types: dict[int, tuple[exp.Expr, Type]] = {}  # with the node, so that no other one gets its id
        self._parameters: list[Mapping[str, Type | None]] = []  # of lambdas, from the outside to the inside
        self._scope: Scope | None = None
        self._scopes = Scopes(columns, self._type)
        self._costly = Costly()

    def run(self, tree: exp.Query) -> Sequence[Type | None]:
        check_relations(tree)
        check_clauses(tree)
        with_output_names(tree)
        name_values(tree)
        for scope in list(traverse_scope(tree)):
            self._scope = scope
            self._scopes.expand_rest(scope)
            self._visit(scope.expression)
            self._costly.forget(0)
            self._scopes.finish(scope)
            if isinstance(scope.expression, exp.Unnest):
                self._unnest(scope.expression)
        guard_zones(tree, self._type)
        check_map_keys(tree, self._type)
        with_ties(tree)
        return [type_ for _, type_ in self._scopes.result(tree) or ()]

    def _unnest(self, node: exp.Unnest) -> None:
        new = unnested(node, self._type)
        node.replace(new)
        self._scopes.stands_for(new, node)

    def _type(self, node: exp.Expr) -> Type | None:
        type_ = self._types.get(id(node))
        return type_[1] if type_ is not None else None

    def _set(self, node: exp.Expr, type_: Type | None) -> None:
        if type_ is not None:
            self._types[id(node)] = (node, type_)

    def _visit(self, node: exp.Expr) -> None:
        """Translate ``node`` and what is in it; it may be replaced in its parent."""
        if isinstance(node, exp.Version):
            return  # evaluated with the table that it is a version of
        mark = self._costly.mark()
        if self._scopes.is_finished(node):
            self._set(node, self._scopes.scalar(node))
            if isinstance(node, exp.Subquery):
                self._as_record(node)
            return
        inside: exp.Expr = node
        while isinstance(inside, _AROUND) and isinstance(inside.this, exp.Expr):
            inside = inside.this
        if isinstance(inside, exp.Values):
            expand_rows(inside)
        row = row_of(inside)
        matcher = isinstance(inside, exp.Anonymous) and RECOGNIZED in inside.meta
        if not matcher and (isinstance(inside, exp.Anonymous) or row is not None):
            self._call(node, inside, row)
        elif matcher or isinstance(inside, _STRUCTURE):
            for child in list(node.iter_expressions()):
                self._visit(child)
            self._plain(node, mark)
        else:
            raise StatementError(
                "NOT_SUPPORTED",
                f"'{node.sql('trino')[:100]}' is not supported.",
                position=position_of(node),
                remedy="The documentation's page on SQL functions lists what is served.",
            )

    def _plain(self, node: exp.Expr, mark: int) -> None:
        """Note the type of a node of :data:`_STRUCTURE`; its parts are translated, and were found since ``mark``."""
        self._check_condition(node)
        self._set(node, matches_type() if isinstance(node, exp.Anonymous) else self._plain_type(node))
        if isinstance(node, exp.Subquery):
            self._as_record(node)
            self._costly.add(node, mark)
        elif self._parameters:
            self._field(node)

    def _as_record(self, node: exp.Subquery) -> None:
        """Make one value of the columns of a scalar subquery that has several."""
        type_ = self._type(node)
        relations = (exp.From, exp.Join, exp.Lateral, exp.CTE, exp.SetOperation)
        compared = (exp.In, exp.Any, exp.All, exp.Exists)
        used_as_rows = (*relations, *compared, exp.Subquery)  # of brackets in brackets the outermost are used
        if type_ is None or type_.name != "row" or node.parent is None or isinstance(node.parent, used_as_rows):
            return
        if node.alias == "" and len(self._scopes.result(node) or ()) > 1:
            node.set("this", as_records(node.this, len(type_.inner)))

    def _field(self, node: exp.Expr) -> None:
        """Write the field of a row in a lambda as a call: in HAVING the engine takes its name for a column's."""
        if isinstance(node, exp.Dot):
            row, name = node.this, node.expression.name
        elif isinstance(node, exp.Column) and self._parameter(node.table) is not None:
            row, name = exp.to_identifier(node.table), node.name
        else:
            return
        type_ = self._parameter(row.name) if isinstance(row, exp.Identifier) else self._type(row)
        new = call_engine("struct_extract", row, exp.Literal.string(name))
        node.replace(new)
        self._set(new, field_type(type_, name))

    def _check_condition(self, node: exp.Expr) -> None:
        """Raise Trino's error for a condition that is not a boolean; the engine would cast it."""
        what = _CONDITIONS.get(type(node))
        condition = node.args.get("on") if isinstance(node, exp.Join) else node.this if what is not None else None
        type_ = self._type(condition) if isinstance(condition, exp.Expr) else None
        if type_ is not None and type_.name not in {"boolean", "unknown"}:
            message = f"{what} clause must evaluate to a boolean: actual type {type_}"
            raise StatementError("TYPE_MISMATCH", message, position=position_of(node))

    def _plain_type(self, node: exp.Expr) -> Type | None:
        result: Type | None = None
        if isinstance(node, exp.Column):
            result = self._column(node)
        elif isinstance(node, exp.Identifier):
            result = self._parameter(node.name)
        elif isinstance(node, exp.Literal):
            result = _literal(node)
        elif isinstance(node, exp.Boolean):
            result = BOOLEAN
        elif isinstance(node, exp.Null):
            result = UNKNOWN
        elif isinstance(node, _AS_INSIDE):
            result = self._type(node.this)
        elif isinstance(node, exp.Tuple):
            result = Type.row((None, self._type(expression)) for expression in node.expressions)
        elif isinstance(node, exp.Subquery):
            result = self._scopes.scalar(node)
        elif isinstance(node, exp.Dot):
            result = field_type(self._type(node.this), node.expression.name)
        return result

    def _column(self, node: exp.Column) -> Type | None:
        names = {name for parameter in self._parameters for name in parameter}
        if not names.isdisjoint({node.name.lower()} if not node.table else {part.name.lower() for part in node.parts[:-1]}):
            return self._parameter(node.name) if not node.table else None
        if not isinstance(node.this, exp.Star):
            self._scopes.check(node, self._scope)
        return self._scopes.column(node, self._scope)

    def _parameter(self, name: str) -> Type | None:
        return next((parameter[name.lower()] for parameter in reversed(self._parameters) if name.lower() in parameter), None)

    def _call(self, outer: exp.Expr, node: exp.Expr, row: Row | None) -> None:
        """Translate a call with its OVER, FILTER and the like (``outer``), and put the result in its place."""
        row = _served(node, row)
        mark = self._costly.mark()
        if isinstance(node, exp.Binary):
            self._chain(node)
            return
        around: list[exp.Expr] = []
        place = outer
        while outer is not node:
            around.insert(0, outer)
            outer = outer.this
        for item in around:
            for child in [child for child in item.iter_expressions() if child is not item.this]:
                self._visit(child)
        distinct, order = _unwrapped(node) if isinstance(node, exp.Anonymous) else (False, ())
        self._arguments(node, row)
        for item in order:
            self._visit(item)
        self._write(place, row, self._made(node, row, distinct=distinct, order=order, around=around), mark)

    def _chain(self, node: exp.Binary) -> None:
        """Translate a chain of operators from the left, without a recursion for each of them."""
        chain: list[exp.Expr] = [node]
        while isinstance(chain[-1].this, exp.Binary) and row_of(chain[-1].this) is not None:
            chain.append(chain[-1].this)
        mark = self._costly.mark()
        self._visit(chain[-1].this)
        for item in reversed(chain):
            for child in [child for child in item.iter_expressions() if child is not item.this]:
                self._visit(child)
            row = _served(item, row_of(item))
            self._write(item, row, self._made(item, row), mark)

    def _arguments(self, node: exp.Expr, row: Row) -> None:
        lambdas = [iter_expression for iter_expression in node.iter_expressions() if isinstance(iter_expression, exp.Lambda)]
        for child in list(node.iter_expressions()):
            if not isinstance(child, exp.Lambda):
                self._visit(child)
        if not lambdas:
            return
        types = [
            None if isinstance(iter_expression, exp.Lambda) else self._type(iter_expression)
            for iter_expression in node.iter_expressions()
        ]
        parameters = row.lambdas(types) if row.lambdas is not None else ()
        for number, lambda_ in enumerate(lambdas):
            self._lambda(lambda_, parameters[number] if number < len(parameters) else ())

    def _lambda(self, node: exp.Lambda, types: Types) -> None:
        names = [expression.name.lower() for expression in node.expressions]
        mark = self._costly.mark()
        self._parameters.append({name: types[at] if at < len(types) else None for at, name in enumerate(names)})
        self._visit(node.this)
        self._parameters.pop()
        _check_lambda(node)
        self._costly.forget(mark)
        self._set(node, self._type(node.this))

    def _made(
        self,
        node: exp.Expr,
        row: Row,
        *,
        distinct: bool = False,
        order: Sequence[exp.Expr] = (),
        around: Sequence[exp.Expr] = (),
    ) -> Call:
        arguments = list(row.operands(node) if row.operands is not None else node.iter_expressions())
        call = Call(
            name=row.name,
            arguments=arguments,
            types=[self._type(argument) for argument in arguments],
            node=node,
            distinct=distinct,
            order=order,
            around=around,
            beside=[self._type(item) for item in row.beside(node)] if row.beside is not None else (),
        )
        infer(arguments, call.types)
        least, most = row.bounds
        if isinstance(node, exp.Anonymous) and not (least <= len(arguments) and (most is None or len(arguments) <= most)):
            raise call.unexpected(_expected(row))
        return call

    def _written(self, row: Row, call: Call, _kind: Type | None, costly: Sequence[exp.Expr]) -> exp.Expr | None:
        """Return the engine's expression for ``call``, whose result has Trino's type ``_kind``; None for what stands there.

        ``costly`` are the parts of its operands that are to be computed once.
        """
        write = row.write
        if write is not None:
            alone = row.kind != "scalar" or not costly or _reads_rows(call.node)
            return write(call) if alone else written_once(write, call, costly)
        return call.engine(call.name, *call.arguments) if isinstance(call.node, exp.Anonymous) else None

    def _write(self, place: exp.Expr, row: Row, call: Call, mark: int) -> None:
        """Put what is written for ``call`` at ``place``; the costly parts of its operands were found since ``mark``."""
        parent, key, index = place.parent, place.arg_key, place.index
        type_ = row.result(call)
        costly = self._costly.since(mark)
        new = tried(self._written(row, call, type_, costly) or place)
        if new is not place and parent is not None and key is not None:
            parent.set(key, new, index)
        self._set(new, type_)
        if row.kind != "scalar":
            note_rows_value(new)
            self._costly.add(new, mark)
        elif isinstance(new, exp.Any | exp.All):
            self._costly.forget(mark)  # they are not values
        elif (costly or row.volatile) and not (isinstance(new, exp.If) and isinstance(parent, exp.Case)):
            self._costly.add(new, mark)


def _reads_rows(node: exp.Expr) -> bool:
    """Whether an operator has a subquery's rows as its operand, and not its value."""
    return isinstance(node, exp.Exists | exp.Any | exp.All) or (
        isinstance(node, exp.In) and node.args.get("query") is not None
    )


def _check_lambda(node: exp.Lambda) -> None:
    """Raise Trino's errors for what a lambda may not have inside."""
    query = node.this.find(exp.Query)
    if query is not None:
        raise StatementError("NOT_SUPPORTED", "Lambda expression cannot contain subqueries", position=position_of(query))
    if has_rows_value(node.this):
        message = "Lambda expression cannot contain aggregations, window functions or grouping operations"
        raise StatementError("EXPRESSION_NOT_SCALAR", message, position=position_of(node.this))


def _served(node: exp.Expr, row: Row | None) -> Row:
    """Return ``row`` if there is one that is not refused."""
    if row is None:
        raise StatementError(
            "FUNCTION_NOT_FOUND",
            f"Function '{node.name.lower()}' not registered",
            position=position_of(node),
            remedy=did_you_mean(node.name, (name for name, item in BY_NAME.items() if item.refused is None)),
        )
    if row.refused is not None:
        raise StatementError(
            "NOT_SUPPORTED",
            f"'{row.name}' is not supported: {row.refused.rstrip('.')}.",
            position=position_of(node),
            remedy=row.remedy,
        )
    return row


def _unwrapped(node: exp.Anonymous) -> tuple[bool, Sequence[exp.Expr]]:
    """Take DISTINCT and ORDER BY from around a call's arguments, and return them."""
    arguments = list(node.expressions)
    order: Sequence[exp.Expr] = ()
    distinct = False
    if arguments and isinstance(arguments[-1], exp.Order):
        order = arguments[-1].expressions
        arguments[-1] = arguments[-1].this
    if arguments and isinstance(arguments[0], exp.Distinct):
        distinct = True
        arguments = [*arguments[0].expressions, *arguments[1:]]
        if isinstance(arguments[-1], exp.Order):
            order = arguments[-1].expressions
            arguments[-1] = arguments[-1].this
    node.set("expressions", arguments)
    return distinct, order


def _literal(node: exp.Literal) -> Type:
    text = node.name
    if node.is_string:
        return Type("varchar", (len(text),))
    if "e" in text.lower():
        return DOUBLE
    if "." in text:
        whole, fraction = text.split(".")
        return Type.decimal(max(1, len(whole.lstrip("0")) + len(fraction)), len(fraction))
    number = int(text)
    # The sign is an operator for sqlglot: the least bigint is one more than the greatest without it.
    if number > (1 << 63) - (not isinstance(node.parent, exp.Neg)):
        raise StatementError("SYNTAX_ERROR", f"Invalid numeric literal: {text[:100]}", remedy="Write DECIMAL '...'.")
    return INTEGER if number < 1 << 31 else BIGINT


def _expected(row: Row) -> str:
    least, most = row.bounds
    if most is None:
        return f"{row.name} with at least {least} arguments"
    count = str(least) if least == most else f"{least} to {most}"
    return f"{row.name} with {count} argument{'s' if most != 1 else ''}"

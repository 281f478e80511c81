"""Array functions and operators.

Sources: Trino's documentation, "Array functions and operators"; where it says nothing (order of elements, bounds, text of
errors), what Trino's published tests expect.
"""

from collections.abc import Sequence

from sqlglot import exp

from penstock.sql.functions.nested.lambdas import applied, body, fresh, function, lambda_of
from penstock.sql.functions.rows import (
    Call,
    Definition,
    Macro,
    Returns,
    Row,
    Types,
    call_engine,
    fail,
    refuse,
    renamed,
    strict,
)
from penstock.sql.trino_types import BIGINT, BOOLEAN, VARCHAR, Type, common

__all__ = ["DEFINITIONS", "ROWS", "element"]

_MAX_COMBINATION = 5
_LATER = "Athena engine version 3 has no such function"
# What the engine's cast to text writes as Trino does.
_PLAIN = frozenset({"varchar", "char", "tinyint", "smallint", "integer", "bigint", "boolean", "decimal", "date", "unknown"})


def element(type_: Type | None) -> Type | None:
    """Return the type of an array's elements."""
    return type_.element if type_ is not None and type_.name == "array" else None


def _first(types: Types) -> Type | None:
    return types[0] if types else None


def _first_element(types: Types) -> Type | None:
    return element(_first(types))


def _elements(types: Types) -> Sequence[Types]:
    return [[_first_element(types)]]


def _all(types: Types) -> Type | None:
    return common(types)


def _array_of_first(types: Types) -> Type | None:
    return Type.array(_first(types))


def _check_element(call: Call) -> None:
    """Raise Trino's error if the second argument's type cannot be that of the first one's elements."""
    inside, value = element(call.types[0]), call.types[1]
    if inside is not None and value is not None and common([inside, value]) is None:
        raise call.unexpected(f"{call.name}(array(T), T)")


def _of_element(name: str, macro: str, returns: Returns) -> Row:
    return Row(name=name, arity=(2, 2), returns=returns, write=lambda call: _sought(call, macro))


def _sought(call: Call, macro: str) -> exp.Expr:
    _check_element(call)
    type_ = call.types[1]
    is_floating = type_ is not None and type_.is_floating and not isinstance(call.arguments[1].unnest(), exp.Literal)
    return call_engine(f"{macro}_floating" if is_floating else macro, *call.arguments)


def _contains(call: Call) -> exp.Expr:
    type_, sought = call.types
    if sought is not None and sought.name == "ipaddress" and (type_ is None or type_.is_text or type_.name == "unknown"):
        return call_engine("trino_network_contains", *call.arguments)
    return _sought(call, "trino_contains")


def _sort(call: Call) -> exp.Expr:
    array = call.arguments[0]
    if len(call.arguments) == 1:
        return call_engine("trino_array_sort", array)
    comparator = lambda_of(call, 1, 2)
    first, second, result = (fresh(name, comparator) for name in ("first", "second", "sorted"))
    one, other = exp.to_identifier(first), exp.to_identifier(second)
    order = call_engine("trino_comparison", body(comparator, one, other))
    before = function(first, exp.LTE(this=order, expression=exp.Literal.number(0)))
    after = function(first, exp.GT(this=order.copy(), expression=exp.Literal.number(0)))
    sorted_ = exp.to_identifier(result)
    inserted = call_engine(
        "list_concat",
        call_engine("list_append", call_engine("list_filter", sorted_, before), other),
        call_engine("list_filter", sorted_.copy(), after),
    )
    insert = exp.Lambda(this=inserted, expressions=[sorted_.copy(), other.copy()])
    return call_engine("list_reduce", array, insert, call_engine("trino_empty", array.copy()))


def _reduce(call: Call) -> exp.Expr:
    array, state = call.arguments[:2]
    step, last = lambda_of(call, 2, 2), lambda_of(call, 3, 1)
    reduced = applied(last, call_engine("list_reduce", array, step, state))
    absent = exp.Is(this=exp.Paren(this=array.copy()), expression=exp.Null())
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.Not(this=absent), true=reduced)]))


def _reduced(types: Types) -> Type | None:
    # The state has one type; where the initial value's is not the step's, only the engine's binding knows the last result.
    return types[3] if types[1] == types[2] else None


def _reduce_lambdas(types: Types) -> Sequence[Types]:
    return [[types[1], _first_element(types)], [types[1]]]


def _matches(name: str, start: str, operator: type[exp.Connector], negated: bool = False) -> Row:
    def write(call: Call) -> exp.Expr:
        matches = call_engine("list_transform", call.arguments[0], lambda_of(call, 1, 1))
        state, each = exp.to_identifier("trino_state"), exp.to_identifier("trino_each")
        step = exp.Lambda(this=operator(this=state, expression=each), expressions=[state.copy(), each.copy()])
        answer = call_engine("list_reduce", matches, step, exp.Boolean(this=start == "true"))
        return exp.Paren(this=exp.Not(this=answer)) if negated else answer

    return Row(name=name, arity=(2, 2), returns=BOOLEAN, write=write, lambdas=_elements)


def _with_lambda(name: str, engine: str, returns: Returns) -> Row:
    def write(call: Call) -> exp.Expr:
        return call_engine(engine, call.arguments[0], lambda_of(call, 1, 1))

    return Row(name=name, arity=(2, 2), returns=returns, write=write, lambdas=_elements)


def _transformed(types: Types) -> Type | None:
    return Type.array(types[1])


def _if_all(arguments: Sequence[exp.Expr], result: exp.Expr) -> exp.Expr:
    """Return ``result``, and NULL if one of the arguments is."""
    given = [exp.Not(this=exp.Is(this=exp.Paren(this=each.copy()), expression=exp.Null())) for each in arguments]
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=exp.and_(*given), true=result)]))


def _zip(call: Call) -> exp.Expr:
    return _if_all(call.arguments, call_engine("list_zip", *call.arguments))


def _zipped(types: Types) -> Type | None:
    return Type.array(Type.row((None, element(each)) for each in types))


def _zip_with(call: Call) -> exp.Expr:
    arrays, merge = call.arguments[:2], lambda_of(call, 2, 2)
    pair = fresh("pair", merge)
    fields = (call_engine("struct_extract_at", exp.to_identifier(pair), exp.Literal.number(at)) for at in (1, 2))
    merged = call_engine("list_transform", call_engine("list_zip", *arrays), function(pair, body(merge, *fields)))
    return _if_all(arrays, merged)


def _max(call: Call) -> exp.Expr:
    inside = element(call.types[0])
    # NaN is the maximum only of NaNs. The engine takes it for the greatest number.
    floating = inside is not None and inside.is_floating
    return call_engine("trino_array_max_number" if floating else "trino_array_max", *call.arguments)


def _combinations(call: Call) -> exp.Expr:
    size = call.arguments[1]
    if not isinstance(size, exp.Literal) or size.is_string or not size.name.isdigit():
        raise call.wrong(
            "combinations is not supported with a size that is not a number in the query.",
            code="NOT_SUPPORTED",
            remedy="Write the size as a number from 0 to 5.",
        )
    if int(size.name) > _MAX_COMBINATION:
        raise call.wrong(f"combination size must not exceed {_MAX_COMBINATION}: {size.name}")
    return call_engine(f"trino_combinations_{int(size.name)}", call.arguments[0])


def _join(call: Call) -> exp.Expr:
    inside = element(call.types[0])
    if inside is None or inside.name not in _PLAIN:
        raise call.wrong(
            f"array_join is not supported for elements of type {inside or 'unknown'}.",
            code="NOT_SUPPORTED",
            remedy="Cast the elements first: transform(x, e -> CAST(e AS varchar)).",
        )
    texts = exp.cast(call.arguments[0], "TEXT[]", dialect="duckdb")
    macro = "trino_array_join" if call.text(1) is not None else "trino_array_join_by"
    return call_engine(macro, texts, *call.arguments[1:])


def _subscript(call: Call) -> exp.Expr:
    base, index = call.node.this, call.node.expressions[0]
    type_ = call.types[0]
    if type_ is not None and type_.name == "map":
        return call_engine("trino_map_subscript", base, index)
    if type_ is not None and type_.name == "row":
        if not (isinstance(index, exp.Literal) and index.name.isdigit()):
            raise call.wrong("Subscript expression on ROW requires a constant index", code="EXPRESSION_NOT_CONSTANT")
        if not 0 < int(index.name) <= len(type_.inner):
            raise call.wrong(
                f"Invalid subscript index: {index.name}. ROW indices start at 1", code="INVALID_FUNCTION_ARGUMENT"
            )
        return call_engine("struct_extract_at", base, index)
    if type_ is not None and type_.name != "array":
        raise call.wrong(f"Cannot use {type_} for subscript of {call.types[1]}", code="TYPE_MISMATCH")
    if type_ is None:
        raise call.wrong(
            "The type of what [] is applied to is not known.",
            code="NOT_SUPPORTED",
            remedy="CAST it to its array or map type.",
        )
    return call_engine("trino_subscript", base, index)


def _subscripted(types: Types) -> Type | None:
    return types[0].element if types and types[0] is not None else None


def _element_at(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is None or type_.name not in {"array", "map", "unknown"}:
        raise call.unexpected("element_at(array(T), bigint), element_at(map(K, V), K)")
    return call_engine("map_extract_value" if type_.name == "map" else "trino_element_at", *call.arguments)


def _array(call: Call) -> exp.Expr:
    return call_engine("list_value", *call.arguments)


def _array_type(types: Types) -> Type | None:
    return Type.array(common(types) if types else Type("unknown"))


def _cardinality(call: Call) -> exp.Expr:
    type_ = call.types[0]
    if type_ is not None and type_.name in {"HyperLogLog", "P4HyperLogLog"}:
        return call_engine("trino_hll_cardinality", *call.arguments)
    return exp.cast(call_engine("cardinality", *call.arguments), "BIGINT")


def _sequence(call: Call) -> exp.Expr:
    if len(call.arguments) == 3:
        return call_engine("trino_sequence", *call.arguments)
    step = call_engine("trino_sequence_step", *(each.copy() for each in call.arguments))
    return call_engine("trino_sequence", *call.arguments, step)


def _sequenced(types: Types) -> Type | None:
    type_ = types[0]
    return Type.array(BIGINT if type_ is not None and type_.is_integer else type_) if type_ is not None else None


_NO_ENTRIES = "result of sequence function must not have more than 10000 entries"
_WRONG_STEP = (
    "sequence stop value should be greater than or equal to start value if step is greater than zero otherwise stop "
    "should be less than or equal to start"
)
_INVALID = "INVALID_FUNCTION_ARGUMENT"


def _entries(length: str, step: str, rises: str) -> str:
    """Return SQL for the numbers from 0 of a sequence, after Trino's checks of the step and of the length."""
    return (
        f"range(CASE WHEN {step} = 0 THEN {fail(_INVALID, 'step must not be zero', 'BIGINT')} "
        f"WHEN NOT ({rises}) THEN {fail(_INVALID, _WRONG_STEP, 'BIGINT')} "
        f"WHEN {length} > 10000 THEN {fail(_INVALID, _NO_ENTRIES, 'BIGINT')} ELSE {length} END)"
    )


def _rises(step: str) -> str:
    return f"CASE WHEN {step} > 0 THEN b >= a ELSE b <= a END"


_NUMBERS = _entries("((b - a) // step + 1)", "step", _rises("step"))
_MICROS = "epoch_us(step)"
_MONTHS = "(date_part('year', step) * 12 + date_part('month', step))"
_DAYS = f"({_MICROS} // 86400000000)"
_NOT_DAYS = fail(_INVALID, "sequence step must be a day interval if start and end values are dates", "BIGINT")


def _temporal(type_: str, months: str, others: str, unit: str) -> str:
    """Return a macro's text: a sequence by months if the step has months, else by the length of the step."""
    by_months = _entries(f"(date_sub('month', a, b) // {_MONTHS} + 1)", _MONTHS, _rises(_MONTHS))
    by_time = _entries(f"({others} // {unit} + 1)", unit, _rises(unit))
    return (
        f"CASE WHEN {_MONTHS} <> 0 THEN list_transform({by_months}, lambda trino_i: "
        f"CAST(a + to_months(CAST(trino_i * {_MONTHS} AS INTEGER)) AS {type_})) "
        f"ELSE list_transform({by_time}, lambda trino_i: {months}) END"
    )


_DATES = _temporal(
    "DATE",
    f"a + CAST(trino_i * CASE WHEN {_MICROS} % 86400000000 <> 0 THEN {_NOT_DAYS} ELSE {_DAYS} END AS INTEGER)",
    "(b - a)",
    _DAYS,
)
_STAMPS = _temporal("TIMESTAMP", f"a + to_microseconds(trino_i * {_MICROS})", "(epoch_us(b) - epoch_us(a))", _MICROS)


def _combination_macros() -> Sequence[Macro]:
    """Return macros for each size, in Trino's order: by the last index, then the one before it."""
    macros = [Macro("trino_combinations_0", ["(a) AS CASE WHEN a IS NOT NULL THEN [list_slice(a, 1, 0)] END"])]
    for size in range(1, _MAX_COMBINATION + 1):
        count = " * ".join(f"(len(a) - {each})" for each in range(size))
        # The length itself is guarded: the engine folds what is constant, whichever branch of a CASE it stands in.
        length = (
            f"CASE WHEN CAST({count} AS DOUBLE) > {100_000 // size * _FACTORIALS[size]} "
            f"THEN {fail(_INVALID, 'combinations exceed max size', 'BIGINT')} ELSE len(a) END"
        )
        indexes = f"list_transform(range({length}), lambda trino_i: [trino_i + 1])"
        for _ in range(1, size):
            chosen = f"list_filter({indexes}, lambda trino_c: trino_c[-1] <= trino_last)"
            longer = f"list_transform({chosen}, lambda trino_c: list_append(trino_c, trino_last + 1))"
            indexes = f"flatten(list_transform(range({length}), lambda trino_last: {longer}))"
        text = f"(a) AS list_transform({indexes}, lambda trino_c: list_transform(trino_c, lambda trino_i: a[trino_i]))"
        macros.append(Macro(f"trino_combinations_{size}", [text]))
    return macros


_FACTORIALS = (1, 1, 2, 6, 24, 120)


def _bounded(condition: str, message: str) -> str:
    return f"WHEN {condition} THEN {fail(_INVALID, message, 'BIGINT')}"


ROWS: Sequence[Row] = [
    Row(name="ARRAY[]", nodes=(exp.Array,), returns=_array_type, write=_array),
    Row(name="[]", nodes=(exp.Bracket,), returns=_subscripted, write=_subscript),
    _matches("all_match", "true", exp.And),
    _matches("any_match", "false", exp.Or),
    _matches("none_match", "false", exp.Or, negated=True),
    renamed("array_distinct", "trino_array_distinct", 1, _first),
    renamed("array_intersect", "trino_array_intersect", 2, _all),
    renamed("array_union", "trino_array_union", 2, _all),
    renamed("array_except", "trino_array_except", 2, _all),
    Row(name="array_join", arity=(2, 3), returns=VARCHAR, write=_join),
    Row(name="array_max", arity=(1, 1), returns=_first_element, write=_max),
    renamed("array_min", "trino_array_min", 1, _first_element),
    _of_element("array_position", "trino_array_position", BIGINT),
    _of_element("array_remove", "trino_array_remove", _first),
    Row(
        name="array_sort",
        arity=(1, 2),
        returns=_first,
        write=_sort,
        lambdas=lambda types: [[_first_element(types)] * 2],
        note="A comparator that contradicts itself gives an order of its own.",
    ),
    renamed("arrays_overlap", "trino_arrays_overlap", 2, BOOLEAN),
    Row(
        name="cardinality",
        arity=(1, 1),
        returns=BIGINT,
        write=_cardinality,
        note="Of a HyperLogLog, an estimate with Trino's standard error, which may differ from Trino's own.",
    ),
    Row(
        name="combinations",
        arity=(2, 2),
        returns=_array_of_first,
        write=_combinations,
        note="The size must be a number in the query.",
    ),
    Row(name="contains", arity=(2, 2), returns=BOOLEAN, write=_contains, note="Also of a network (CIDR) and an ipaddress."),
    renamed("contains_sequence", "trino_contains_sequence", 2, BOOLEAN),
    Row(name="element_at", arity=(2, 2), returns=_subscripted, write=_element_at),
    _with_lambda("filter", "list_filter", _first),
    renamed("flatten", "flatten", 1, _first_element),
    renamed("ngrams", "trino_ngrams", 2, _array_of_first),
    Row(name="reduce", arity=(4, 4), returns=_reduced, write=_reduce, lambdas=_reduce_lambdas),
    renamed("repeat", "trino_repeat", 2, _array_of_first),
    Row(name="sequence", arity=(2, 3), returns=_sequenced, write=_sequence),
    renamed("shuffle", "trino_shuffle", 1, _first, repeatable=False, volatile=True),
    renamed("slice", "trino_slice", 3, _first),
    _with_lambda("transform", "list_transform", _transformed),
    renamed("trim_array", "trino_trim_array", 2, _first),
    Row(name="zip", arity=(2, 5), returns=_zipped, write=_zip),
    Row(
        name="zip_with",
        arity=(3, 3),
        returns=lambda types: Type.array(types[2]),
        write=_zip_with,
        lambdas=lambda types: [[element(types[0]), element(types[1])]],
    ),
    *refuse("array_first array_last array_histogram euclidean_distance dot_product", _LATER),
]

_NULLS = "len({0}) > list_count({0})"

_FEW = 64  # elements, among which a search is faster than sorting them

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_empty", ["(a) AS list_slice(a, 1, 0)"]),
    Macro(
        "trino_comparison",
        [
            f"(c) AS CASE WHEN c IN (-1, 0, 1) THEN c ELSE "
            f"{fail(_INVALID, 'Lambda comparator must return either -1, 0, or 1')} END"
        ],
    ),
    Macro("trino_array_sort", ["(a) AS list_sort(a, 'ASC', 'NULLS LAST')"]),
    # The positions of the first of equal elements, in order: by sorting, as a search for each takes the square of the time.
    Macro(
        "trino_firsts",
        [
            "(a) AS list_transform([list_sort(list_transform(a, lambda trino_x, trino_i: "
            "struct_pack(v := trino_x, i := trino_i)))], lambda trino_s: list_sort(list_transform(list_filter(trino_s, "
            "lambda trino_x, trino_j: trino_j = 1 OR struct_extract(trino_s[trino_j - 1], 'v') "
            "IS DISTINCT FROM struct_extract(trino_x, 'v')), lambda trino_x: struct_extract(trino_x, 'i'))))[1]"
        ],
    ),
    Macro(
        "trino_array_distinct",
        [
            f"(a) AS list_transform([a], lambda trino_a: CASE WHEN len(trino_a) < {_FEW} THEN "
            "list_filter(trino_a, lambda trino_x, trino_i: list_position(trino_a, trino_x) = trino_i) "
            "ELSE list_transform(trino_firsts(trino_a), lambda trino_p: trino_a[trino_p]) END)[1]"
        ],
    ),
    Macro(
        "trino_array_union",
        ["(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN trino_array_distinct(list_concat(a, b)) END"],
    ),
    Macro(
        "trino_array_except",
        [
            "(a, b) AS list_transform([a], lambda trino_a: list_transform([b], lambda trino_b: "
            f"CASE WHEN len(trino_a) + len(trino_b) < {_FEW} THEN "
            "list_filter(trino_array_distinct(trino_a), lambda trino_y: list_position(trino_b, trino_y) IS NULL) "
            "WHEN trino_a IS NOT NULL AND trino_b IS NOT NULL THEN "
            "list_transform(list_filter(trino_firsts(list_concat(trino_b, trino_a)), "
            "lambda trino_p: trino_p > len(trino_b)), lambda trino_p: trino_a[trino_p - len(trino_b)]) END)[1])[1]"
        ],
    ),
    Macro(
        "trino_array_intersect",
        [
            "(a, b) AS list_transform([CASE WHEN len(a) < len(b) THEN struct_pack(a := b, b := a) "
            "ELSE struct_pack(a := a, b := b) END], lambda trino_s: trino_array_except(struct_extract(trino_s, 'a'), "
            "trino_array_except(struct_extract(trino_s, 'a'), struct_extract(trino_s, 'b'))))[1]"
        ],
    ),
    Macro(
        "trino_array_join",
        [
            "(a, separator) AS CASE WHEN separator IS NOT NULL THEN array_to_string(a, separator) END",
            "(a, separator, missing) AS CASE WHEN separator IS NOT NULL AND missing IS NOT NULL THEN "
            "array_to_string(list_transform(a, lambda trino_x: coalesce(trino_x, missing)), separator) END",
        ],
    ),
    # The engine's own function accepts a constant separator only.
    Macro(
        "trino_array_join_by",
        [
            "(a, separator) AS CASE WHEN separator IS NULL OR a IS NULL THEN NULL WHEN list_count(a) = 0 THEN '' ELSE "
            "list_reduce(list_filter(a, lambda trino_x: trino_x IS NOT NULL), "
            "lambda trino_x, trino_y: trino_x || separator || trino_y) END",
            "(a, separator, missing) AS CASE WHEN separator IS NULL OR a IS NULL OR missing IS NULL THEN NULL "
            "WHEN len(a) = 0 THEN '' ELSE list_reduce(list_transform(a, lambda trino_x: coalesce(trino_x, missing)), "
            "lambda trino_x, trino_y: trino_x || separator || trino_y) END",
        ],
    ),
    Macro("trino_array_max", ["(a) AS CASE WHEN len(a) = list_count(a) THEN list_max(a) END"]),
    Macro(
        "trino_array_max_number",
        [
            "(a) AS CASE WHEN len(a) = list_count(a) THEN "
            "coalesce(list_max(list_filter(a, lambda trino_x: NOT trino_is_nan(trino_x))), list_max(a)) END"
        ],
    ),
    Macro("trino_array_min", ["(a) AS CASE WHEN len(a) = list_count(a) THEN list_min(a) END"]),
    Macro(
        "trino_array_position",
        ["(a, x) AS CASE WHEN a IS NOT NULL AND x IS NOT NULL THEN CAST(coalesce(list_position(a, x), 0) AS BIGINT) END"],
    ),
    Macro(
        "trino_array_remove",
        ["(a, x) AS CASE WHEN x IS NOT NULL THEN list_filter(a, lambda trino_x: trino_x <> x OR trino_x IS NULL) END"],
    ),
    # NaN is equal to no element.
    *(
        Macro(f"trino_{name}_floating", [f"(a, x) AS CASE WHEN trino_is_nan(x) THEN {for_nan} ELSE trino_{name}(a, x) END"])
        for name, for_nan in (
            ("array_position", "CASE WHEN a IS NOT NULL THEN CAST(0 AS BIGINT) END"),
            ("array_remove", "a"),
            ("contains", "trino_contains(list_filter(a, lambda trino_x: trino_x IS NULL OR NOT trino_is_nan(trino_x)), x)"),
        )
    ),
    Macro(
        "trino_arrays_overlap",
        [
            "(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN len(a) = 0 OR len(b) = 0 THEN false "
            "WHEN list_has_any(list_filter(a, lambda trino_x: trino_x IS NOT NULL), b) THEN true "
            f"WHEN {_NULLS.format('a')} OR {_NULLS.format('b')} THEN NULL ELSE false END"
        ],
    ),
    *_combination_macros(),
    Macro(
        "trino_contains",
        [
            "(a, x) AS CASE WHEN a IS NULL OR x IS NULL THEN NULL WHEN list_contains(a, x) THEN true "
            f"WHEN {_NULLS.format('a')} THEN NULL ELSE false END"
        ],
    ),
    Macro(
        "trino_contains_sequence",
        [
            "(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN len(b) = 0 OR len(list_filter("
            "range(len(a) - len(b) + 1), lambda trino_i: list_slice(a, trino_i + 1, trino_i + len(b)) = b)) > 0 END"
        ],
    ),
    Macro(
        "trino_element_at",
        [f"(a, i) AS a[CASE {_bounded('i = 0', 'SQL array indices start at 1')} ELSE CAST(i AS BIGINT) END]"],
    ),
    Macro(
        "trino_subscript",
        [
            f"(a, i) AS a[CASE WHEN a IS NULL THEN NULL {_bounded('i = 0', 'SQL array indices start at 1')} "
            f"{_bounded('i < 0', 'Array subscript is negative')} "
            f"{_bounded('i > len(a)', 'Array subscript must be less than or equal to array length')} "
            "ELSE CAST(i AS BIGINT) END]"
        ],
    ),
    Macro(
        "trino_map_subscript",
        [
            "(m, k) AS map_values(m)[CASE WHEN m IS NULL OR k IS NULL THEN NULL "
            f"ELSE coalesce(list_position(map_keys(m), k), {fail(_INVALID, 'Key not present in map')}) END]"
        ],
    ),
    Macro(
        "trino_ngrams",
        [
            f"(a, n) AS list_transform(range(CASE {_bounded('n <= 0', 'N must be positive')} "
            "WHEN n >= len(a) THEN 1 ELSE len(a) - n + 1 END), "
            "lambda trino_i: list_slice(a, trino_i + 1, trino_i + n))"
        ],
    ),
    Macro(
        "trino_repeat",
        [
            f"(x, n) AS list_transform(range(CASE "
            f"{_bounded('n < 0', 'count argument of repeat function must be greater than or equal to 0')} "
            f"{_bounded('n > 10000', 'count argument of repeat function must be less than or equal to 10000')} "
            "ELSE CAST(n AS BIGINT) END), lambda trino_i: x)"
        ],
    ),
    Macro(
        "trino_sequence",
        [
            strict("a BIGINT, b BIGINT, step BIGINT", f"list_transform({_NUMBERS}, lambda trino_i: a + trino_i * step)"),
            strict("a DATE, b DATE, step INTERVAL", _DATES),
            strict("a TIMESTAMP, b TIMESTAMP, step INTERVAL", _STAMPS),
        ],
    ),
    Macro(
        "trino_sequence_step",
        [
            "(a BIGINT, b BIGINT) AS CASE WHEN b >= a THEN 1 ELSE -1 END",
            "(a DATE, b DATE) AS CASE WHEN b >= a THEN to_days(1) ELSE to_days(-1) END",
        ],
    ),
    Macro(
        "trino_shuffle",
        [
            "(a) AS list_transform(list_sort(list_transform(a, "
            "lambda trino_x: {'place': random(), 'value': trino_x})), "
            "lambda trino_x: struct_extract(trino_x, 'value'))"
        ],
    ),
    Macro(
        "trino_slice",
        [
            "(a, start, size) AS CASE WHEN start IS NOT NULL AND size IS NOT NULL THEN list_slice(a, "
            f"CASE {_bounded('size < 0', 'length must be greater than or equal to 0')} "
            f"{_bounded('start = 0', 'SQL array indices start at 1')} "
            "WHEN start > 0 THEN CAST(start AS BIGINT) WHEN start + len(a) >= 0 THEN start + len(a) + 1 ELSE 1 END, "
            "CASE WHEN start > 0 THEN CAST(start AS BIGINT) + size - 1 WHEN start + len(a) >= 0 "
            "THEN start + len(a) + size ELSE 0 END) END"
        ],
    ),
    Macro(
        "trino_trim_array",
        [
            f"(a, n) AS list_slice(a, 1, CASE {_bounded('n < 0', 'size must not be negative')} "
            f"{_bounded('n > len(a)', 'size must not exceed array cardinality')} ELSE len(a) - n END)"
        ],
    ),
]

"""The engine's macros of arrays: bounded sequences and combinations, sets by sorting, Trino's NULLs and indexes."""

from collections.abc import Sequence

from penstock.sql.functions.rows import Definition, Macro, fail, strict

__all__ = ["DEFINITIONS", "MAX_COMBINATION"]

MAX_COMBINATION = 5
_NO_ENTRIES = "result of sequence function must not have more than 10000 entries"
_WRONG_STEP = (
    "sequence stop value should be greater than or equal to start value if step is greater than zero otherwise stop "
    "should be less than or equal to start"
)


def _entries(length: str, step: str, rises: str) -> str:
    """Return SQL for the numbers from 0 of a sequence, after Trino's checks of the step and of the length."""
    return (
        f"range(CASE WHEN {step} = 0 THEN {fail('step must not be zero', 'BIGINT')} "
        f"WHEN NOT ({rises}) THEN {fail(_WRONG_STEP, 'BIGINT')} "
        f"WHEN {length} > 10000 THEN {fail(_NO_ENTRIES, 'BIGINT')} ELSE {length} END)"
    )


def _rises(step: str) -> str:
    return f"CASE WHEN {step} > 0 THEN b >= a ELSE b <= a END"


_NUMBERS = _entries("((b - a) // step + 1)", "step", _rises("step"))
_MICROS = "epoch_us(step)"
_MONTHS = "(date_part('year', step) * 12 + date_part('month', step))"
_DAYS = f"({_MICROS} // 86400000000)"
_NOT_DAYS = fail("sequence step must be a day interval if start and end values are dates", "BIGINT")


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
    macros = [Macro("trino_combinations_0", "(a) AS CASE WHEN a IS NOT NULL THEN [list_slice(a, 1, 0)] END")]
    for size in range(1, MAX_COMBINATION + 1):
        count = " * ".join(f"(len(a) - {index})" for index in range(size))
        # The length itself is guarded: the engine folds what is constant, whichever branch of a CASE it stands in.
        length = (
            f"CASE WHEN CAST({count} AS DOUBLE) > {100_000 // size * _FACTORIALS[size]} "
            f"THEN {fail('combinations exceed max size', 'BIGINT')} ELSE len(a) END"
        )
        indexes = f"list_transform(range({length}), lambda trino_i: [trino_i + 1])"
        for _ in range(1, size):
            chosen = f"list_filter({indexes}, lambda trino_c: trino_c[-1] <= trino_last)"
            longer = f"list_transform({chosen}, lambda trino_c: list_append(trino_c, trino_last + 1))"
            indexes = f"flatten(list_transform(range({length}), lambda trino_last: {longer}))"
        text = f"(a) AS list_transform({indexes}, lambda trino_c: list_transform(trino_c, lambda trino_i: a[trino_i]))"
        macros.append(Macro(f"trino_combinations_{size}", text))
    return macros


_FACTORIALS = (1, 1, 2, 6, 24, 120)


def _bounded(condition: str, message: str) -> str:
    return f"WHEN {condition} THEN {fail(message, 'BIGINT')}"


_NULLS = "len({0}) > list_count({0})"

_FEW = 64  # elements, among which a search is faster than sorting them

DEFINITIONS: Sequence[Definition] = [
    Macro("trino_empty", "(a) AS list_slice(a, 1, 0)"),
    Macro(
        "trino_comparison",
        f"(c) AS CASE WHEN c IN (-1, 0, 1) THEN c ELSE {fail('Lambda comparator must return either -1, 0, or 1')} END",
    ),
    Macro("trino_array_sort", "(a) AS list_sort(a, 'ASC', 'NULLS LAST')"),
    # The positions of the first of equal elements, in order: by sorting, as a search for each takes the square of the time.
    Macro(
        "trino_firsts",
        "(a) AS list_transform([list_sort(list_transform(a, lambda trino_x, trino_i: "
        "struct_pack(v := trino_x, i := trino_i)))], lambda trino_s: list_sort(list_transform(list_filter(trino_s, "
        "lambda trino_x, trino_j: trino_j = 1 OR struct_extract(trino_s[trino_j - 1], 'v') "
        "IS DISTINCT FROM struct_extract(trino_x, 'v')), lambda trino_x: struct_extract(trino_x, 'i'))))[1]",
    ),
    Macro(
        "trino_array_distinct",
        f"(a) AS list_transform([a], lambda trino_a: CASE WHEN len(trino_a) < {_FEW} THEN "
        "list_filter(trino_a, lambda trino_x, trino_i: list_position(trino_a, trino_x) = trino_i) "
        "ELSE list_transform(trino_firsts(trino_a), lambda trino_p: trino_a[trino_p]) END)[1]",
    ),
    Macro(
        "trino_array_union",
        "(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN trino_array_distinct(list_concat(a, b)) END",
    ),
    Macro(
        "trino_array_except",
        "(a, b) AS list_transform([a], lambda trino_a: list_transform([b], lambda trino_b: "
        f"CASE WHEN len(trino_a) + len(trino_b) < {_FEW} THEN "
        "list_filter(trino_array_distinct(trino_a), lambda trino_y: list_position(trino_b, trino_y) IS NULL) "
        "WHEN trino_a IS NOT NULL AND trino_b IS NOT NULL THEN "
        "list_transform(list_filter(trino_firsts(list_concat(trino_b, trino_a)), "
        "lambda trino_p: trino_p > len(trino_b)), lambda trino_p: trino_a[trino_p - len(trino_b)]) END)[1])[1]",
    ),
    Macro(
        "trino_array_intersect",
        "(a, b) AS list_transform([CASE WHEN len(a) < len(b) THEN struct_pack(a := b, b := a) "
        "ELSE struct_pack(a := a, b := b) END], lambda trino_s: trino_array_except(struct_extract(trino_s, 'a'), "
        "trino_array_except(struct_extract(trino_s, 'a'), struct_extract(trino_s, 'b'))))[1]",
    ),
    Macro(
        "trino_array_join",
        "(a, separator) AS CASE WHEN separator IS NOT NULL THEN array_to_string(a, separator) END",
        "(a, separator, missing) AS CASE WHEN separator IS NOT NULL AND missing IS NOT NULL THEN "
        "array_to_string(list_transform(a, lambda trino_x: coalesce(trino_x, missing)), separator) END",
    ),
    # The engine's own function accepts a constant separator only.
    Macro(
        "trino_array_join_by",
        "(a, separator) AS CASE WHEN separator IS NULL OR a IS NULL THEN NULL WHEN list_count(a) = 0 THEN '' ELSE "
        "list_reduce(list_filter(a, lambda trino_x: trino_x IS NOT NULL), "
        "lambda trino_x, trino_y: trino_x || separator || trino_y) END",
        "(a, separator, missing) AS CASE WHEN separator IS NULL OR a IS NULL OR missing IS NULL THEN NULL "
        "WHEN len(a) = 0 THEN '' ELSE list_reduce(list_transform(a, lambda trino_x: coalesce(trino_x, missing)), "
        "lambda trino_x, trino_y: trino_x || separator || trino_y) END",
    ),
    Macro("trino_array_max", "(a) AS CASE WHEN len(a) = list_count(a) THEN list_max(a) END"),
    Macro(
        "trino_array_max_number",
        "(a) AS CASE WHEN len(a) = list_count(a) THEN "
        "coalesce(list_max(list_filter(a, lambda trino_x: NOT trino_is_nan(trino_x))), list_max(a)) END",
    ),
    Macro("trino_array_min", "(a) AS CASE WHEN len(a) = list_count(a) THEN list_min(a) END"),
    Macro(
        "trino_array_position",
        "(a, x) AS CASE WHEN a IS NOT NULL AND x IS NOT NULL THEN CAST(coalesce(list_position(a, x), 0) AS BIGINT) END",
    ),
    Macro(
        "trino_array_remove",
        "(a, x) AS CASE WHEN x IS NOT NULL THEN list_filter(a, lambda trino_x: trino_x <> x OR trino_x IS NULL) END",
    ),
    # NaN is equal to no element.
    *(
        Macro(f"trino_{name}_floating", f"(a, x) AS CASE WHEN trino_is_nan(x) THEN {for_nan} ELSE trino_{name}(a, x) END")
        for name, for_nan in (
            ("array_position", "CASE WHEN a IS NOT NULL THEN CAST(0 AS BIGINT) END"),
            ("array_remove", "a"),
            ("contains", "trino_contains(list_filter(a, lambda trino_x: trino_x IS NULL OR NOT trino_is_nan(trino_x)), x)"),
        )
    ),
    Macro(
        "trino_arrays_overlap",
        "(a, b) AS CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN len(a) = 0 OR len(b) = 0 THEN false "
        "WHEN list_has_any(list_filter(a, lambda trino_x: trino_x IS NOT NULL), b) THEN true "
        f"WHEN {_NULLS.format('a')} OR {_NULLS.format('b')} THEN NULL ELSE false END",
    ),
    *_combination_macros(),
    Macro(
        "trino_contains",
        "(a, x) AS CASE WHEN a IS NULL OR x IS NULL THEN NULL WHEN list_contains(a, x) THEN true "
        f"WHEN {_NULLS.format('a')} THEN NULL ELSE false END",
    ),
    Macro(
        "trino_contains_sequence",
        "(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN len(b) = 0 OR len(list_filter("
        "range(len(a) - len(b) + 1), lambda trino_i: list_slice(a, trino_i + 1, trino_i + len(b)) = b)) > 0 END",
    ),
    Macro(
        "trino_element_at",
        f"(a, i) AS a[CASE {_bounded('i = 0', 'SQL array indices start at 1')} ELSE CAST(i AS BIGINT) END]",
    ),
    Macro(
        "trino_subscript",
        f"(a, i) AS a[CASE WHEN a IS NULL THEN NULL {_bounded('i = 0', 'SQL array indices start at 1')} "
        f"{_bounded('i < 0', 'Array subscript is negative')} "
        f"{_bounded('i > len(a)', 'Array subscript must be less than or equal to array length')} "
        "ELSE CAST(i AS BIGINT) END]",
    ),
    Macro(
        "trino_map_subscript",
        "(m, k) AS map_values(m)[CASE WHEN m IS NULL OR k IS NULL THEN NULL "
        f"ELSE coalesce(list_position(map_keys(m), k), {fail('Key not present in map')}) END]",
    ),
    Macro(
        "trino_ngrams",
        f"(a, n) AS list_transform(range(CASE {_bounded('n <= 0', 'N must be positive')} "
        "WHEN n >= len(a) THEN 1 ELSE len(a) - n + 1 END), "
        "lambda trino_i: list_slice(a, trino_i + 1, trino_i + n))",
    ),
    Macro(
        "trino_repeat",
        f"(x, n) AS list_transform(range(CASE "
        f"{_bounded('n < 0', 'count argument of repeat function must be greater than or equal to 0')} "
        f"{_bounded('n > 10000', 'count argument of repeat function must be less than or equal to 10000')} "
        "ELSE CAST(n AS BIGINT) END), lambda trino_i: x)",
    ),
    Macro(
        "trino_sequence",
        strict("a BIGINT, b BIGINT, step BIGINT", f"list_transform({_NUMBERS}, lambda trino_i: a + trino_i * step)"),
        strict("a DATE, b DATE, step INTERVAL", _DATES),
        strict("a TIMESTAMP, b TIMESTAMP, step INTERVAL", _STAMPS),
    ),
    Macro(
        "trino_sequence_step",
        "(a BIGINT, b BIGINT) AS CASE WHEN b >= a THEN 1 ELSE -1 END",
        "(a DATE, b DATE) AS CASE WHEN b >= a THEN to_days(1) ELSE to_days(-1) END",
    ),
    Macro(
        "trino_shuffle",
        "(a) AS list_transform(list_sort(list_transform(a, "
        "lambda trino_x: {'place': random(), 'value': trino_x})), "
        "lambda trino_x: struct_extract(trino_x, 'value'))",
    ),
    Macro(
        "trino_slice",
        "(a, start, size) AS CASE WHEN start IS NOT NULL AND size IS NOT NULL THEN list_slice(a, "
        f"CASE {_bounded('size < 0', 'length must be greater than or equal to 0')} "
        f"{_bounded('start = 0', 'SQL array indices start at 1')} "
        "WHEN start > 0 THEN CAST(start AS BIGINT) WHEN start + len(a) >= 0 THEN start + len(a) + 1 ELSE 1 END, "
        "CASE WHEN start > 0 THEN CAST(start AS BIGINT) + size - 1 WHEN start + len(a) >= 0 "
        "THEN start + len(a) + size ELSE 0 END) END",
    ),
    Macro(
        "trino_trim_array",
        f"(a, n) AS list_slice(a, 1, CASE {_bounded('n < 0', 'size must not be negative')} "
        f"{_bounded('n > len(a)', 'size must not exceed array cardinality')} ELSE len(a) - n END)",
    ),
]

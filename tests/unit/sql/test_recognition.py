"""MATCH_RECOGNIZE: the results in Trino's documentation and in its own tests (TestRowPatternMatching), restated."""

from collections.abc import Sequence

import pytest

from penstock.sql.errors import InvalidRequest, StatementError
from penstock.sql.queries import parameter_places
from penstock.sql.queries import query as read_query
from tests.unit.sql.engine import Engine

FALLING = "(1, 90), (2, 80), (3, 70), (4, 70)"
VALLEYS = "(1, 90), (2, 80), (3, 70), (4, 80), (5, 90), (6, 50), (7, 40), (8, 60)"
MEASURES = "match_number() AS match, RUNNING LAST(value) AS val, classifier() AS label"
DOWN = "B AS B.value < PREV (B.value)"
DOWN_UP = f"{DOWN}, C AS C.value > PREV (C.value)"

Rows = Sequence[Sequence[object]]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


def _query(
    pattern: str,
    define: str,
    *,
    values: str = FALLING,
    measures: str = MEASURES,
    mode: str = "ALL ROWS PER MATCH",
    columns: str = "id, match, val, label",
) -> str:
    return (
        f"SELECT {columns} FROM (VALUES {values}) t(id, value) MATCH_RECOGNIZE "
        f"(ORDER BY id MEASURES {measures} {mode} PATTERN ({pattern}) DEFINE {define}) AS m"
    )


def _texts(rows: Rows) -> list[tuple[str | None, ...]]:
    words = {True: "true", False: "false"}
    return [
        tuple(None if item is None else words[item] if isinstance(item, bool) else str(item) for item in row) for row in rows
    ]


EMPTY = [(at, at, None, None) for at in (1, 2, 3, 4)]
DEFINED = {"concatenation": "B AS B.value < PREV (B.value), C AS C.value = PREV (C.value)"}
B_ROWS = [(2, 1, 80, "B"), (3, 1, 70, "B"), (4, 1, 70, "B")]
EACH_B = [(2, 1, 80, "B"), (3, 2, 70, "B"), (4, 3, 70, "B")]
NOT_DOWN = "B AS B.value <= PREV (B.value)"

PATTERNS: Sequence[tuple[str, str, Rows]] = [
    ("() | A", "A AS true", EMPTY),
    ("^A", "A AS true", [(1, 1, 90, "A")]),
    ("A^", "A AS true", []),
    ("^A^", "A AS true", []),
    ("A$", "A AS true", [(4, 1, 70, "A")]),
    ("$A", "A AS true", []),
    ("$A$", "A AS true", []),
    ("A B C", DEFINED["concatenation"], [(2, 1, 80, "A"), (3, 1, 70, "B"), (4, 1, 70, "C")]),
    ("((A) (B (C)))", DEFINED["concatenation"], [(2, 1, 80, "A"), (3, 1, 70, "B"), (4, 1, 70, "C")]),
    (
        "B | C | A",
        f"{DOWN}, C AS C.value <= PREV (C.value)",
        [(1, 1, 90, "A"), (2, 2, 80, "B"), (3, 3, 70, "B"), (4, 4, 70, "C")],
    ),
    ("PERMUTE(B, C)", f"{DOWN}, C AS C.value < PREV (C.value)", [(2, 1, 80, "B"), (3, 1, 70, "C")]),
    # Quantifiers
    *[
        (f"B{name}", NOT_DOWN, [(1, 1, None, None), *[(at, 2, value, "B") for at, _, value, _ in B_ROWS]])
        for name in ("*", "{,}", "{,5}")
    ],
    *[(f"B{name}", NOT_DOWN, EMPTY) for name in ("*?", "??", "{,}?", "{,1}?", "{,2}?", "{,5}?")],
    *[(f"B{name}", NOT_DOWN, B_ROWS) for name in ("+", "{1,}", "{2,}", "{1,5}")],
    *[(f"B{name}", NOT_DOWN, EACH_B) for name in ("+?", "{1,}?", "{1,1}", "{1,1}?", "{1,5}?", "{1}", "{1}?")],
    *[
        (f"B{name}", NOT_DOWN, [(1, 1, None, None), (2, 2, 80, "B"), (3, 3, 70, "B"), (4, 4, 70, "B")])
        for name in ("?", "{,1}")
    ],
    *[(f"B{name}", NOT_DOWN, B_ROWS[:2]) for name in ("{2,}?", "{2}", "{2}?")],
    *[(f"B{name}", NOT_DOWN, []) for name in ("{5,}", "{5,}?", "{5,7}", "{5,7}?", "{5}", "{5}?")],
    ("B{,2}", NOT_DOWN, [(1, 1, None, None), (2, 2, 80, "B"), (3, 2, 70, "B"), (4, 3, 70, "B")]),
    # Cycles without rows
    *[(name, DOWN, EMPTY) for name in ("()* | B", "()+ | B", "(){5,} | B", "(B ()*)*?", "^* | B", "$* | B")],
    ("B | ()*", DOWN, [(1, 1, None, None), (2, 2, 80, "B"), (3, 3, 70, "B"), (4, 4, None, None)]),
    ("(B ()*)*", DOWN, [(1, 1, None, None), (2, 2, 80, "B"), (3, 2, 70, "B"), (4, 3, None, None)]),
    ("^+ | B", DOWN, [(1, 1, None, None), (2, 2, 80, "B"), (3, 3, 70, "B")]),
    ("^* A B", DOWN, [(1, 1, 90, "A"), (2, 1, 80, "B")]),
    ("$+ | B", DOWN, [(2, 1, 80, "B"), (3, 2, 70, "B")]),
    ("B A $+", DOWN, [(3, 1, 70, "B"), (4, 1, 70, "A")]),
]


@pytest.mark.parametrize(("pattern", "define", "expected"), PATTERNS, ids=[pair[0] for pair in PATTERNS])
def test_patterns_match_as_trinos(engine: Engine, pattern: str, define: str, expected: Rows) -> None:
    assert engine.rows(_query(pattern, define)) == _texts(expected)


ALL = [
    *((1, 1, 90, "A"), (2, 1, 80, "B"), (3, 1, 70, "B"), (4, 1, 80, "C"), (5, 1, 90, "C")),
    *((6, 2, 50, "A"), (7, 2, 40, "B"), (8, 2, 60, "C")),
]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("A B+ C+", "ABC"),
        ("A {- B+ -} C+", "AC"),
        ("{- A -} {- B+ -} C+", "C"),
        ("A {- {- B+ -} C+ -}", "A"),
        ("{- A B+ C+ -}", ""),
        ("A B+ {- ()* -} C+", "ABC"),
        ("A {- B -}+ {- C -}+", "A"),
        ("A {- B -}* {- C -}*", "A"),
        ("A {- B -}{1,2} {- C -}{1,2}", "A"),
    ],
)
def test_exclusions_leave_rows_out_of_the_output_only(engine: Engine, pattern: str, left: str) -> None:
    rows = engine.rows(_query(pattern, DOWN_UP, values=VALLEYS))
    assert rows == _texts([row for row in ALL if str(row[3]) in left])


def test_an_excluded_row_counts_in_aggregates(engine: Engine) -> None:
    rows = engine.rows(
        _query(
            "A {- B+ -} C+", DOWN_UP, values=VALLEYS, measures="sum(value) AS s, FINAL count(B.*) AS n", columns="id, s, n"
        )
    )
    assert rows == _texts([(1, 90, 2), (4, 320, 2), (5, 410, 2), (6, 50, 1), (8, 150, 1)])


MODES: Sequence[tuple[str, str, Rows]] = [
    *[(mode, "B*", [(1, None, None), (2, 70, "B"), (3, None, None)]) for mode in ("ONE ROW PER MATCH", "")],
    ("ONE ROW PER MATCH", "B+", [(1, 70, "B")]),
    *[
        (mode, "B*", [(1, None, None), (2, 80, "B"), (2, 70, "B"), (3, None, None)])
        for mode in ("ALL ROWS PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES")
    ],
    ("ALL ROWS PER MATCH", "B+", [(1, 80, "B"), (1, 70, "B")]),
    ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "B*", [(2, 80, "B"), (2, 70, "B")]),
    ("ALL ROWS PER MATCH OMIT EMPTY MATCHES", "B+", [(1, 80, "B"), (1, 70, "B")]),
    (
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
        "B+",
        [(None, None, None), (1, 80, "B"), (1, 70, "B"), (None, None, None)],
    ),
]


@pytest.mark.parametrize(("mode", "pattern", "expected"), MODES)
def test_each_output_mode_has_its_rows(engine: Engine, mode: str, pattern: str, expected: Rows) -> None:
    assert engine.rows(_query(pattern, DOWN, mode=mode, columns="match, val, label")) == _texts(expected)


FIRST_MATCH = [(1, 1, 90, "A"), (2, 1, 80, "B"), (3, 1, 70, "B"), (4, 1, 80, "C")]
FROM_FOUR = [(4, 2, 80, "A"), (5, 2, 70, "B"), (6, 2, 80, "C")]


@pytest.mark.parametrize(
    ("skip", "more"),
    [
        ("PAST LAST ROW", []),
        (
            "TO NEXT ROW",
            [(2, 2, 80, "A"), (3, 2, 70, "B"), (4, 2, 80, "C"), (4, 3, 80, "A"), (5, 3, 70, "B"), (6, 3, 80, "C")],
        ),
        *[(skip, FROM_FOUR) for skip in ("TO FIRST C", "TO LAST B", "TO B", "TO U")],
    ],
)
def test_matching_goes_on_where_the_clause_says(engine: Engine, skip: str, more: Rows) -> None:
    assert engine.rows(_skipping(skip)) == _texts([*FIRST_MATCH, *more])


def _skipping(skip: str) -> str:
    return _query(
        "A B+ C+ D?) SUBSET U = (C, D",
        f"{DOWN_UP}, D AS false",
        values="(1, 90), (2, 80), (3, 70), (4, 80), (5, 70), (6, 80)",
        mode=f"ALL ROWS PER MATCH AFTER MATCH SKIP {skip}",
    )


@pytest.mark.parametrize(
    ("skip", "why"),
    [("TO A", "cannot skip to first row of match"), ("TO D", "pattern variable is not present in match")],
)
def test_skipping_to_no_row_fails(engine: Engine, skip: str, why: str) -> None:
    with pytest.raises(StatementError, match=f"AFTER MATCH SKIP failed: {why}"):
        engine.rows(_skipping(skip))


def test_rows_of_earlier_matches_are_not_unmatched(engine: Engine) -> None:
    rows = engine.rows(
        _query(
            "A B{2}",
            DOWN,
            values="(1, 100), (2, 100), (3, 90), (4, 80), (5, 70), (6, 100)",
            mode="ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW",
            measures="match_number() AS match, classifier() AS label, count(*) AS n, 1 AS one",
            columns="id, match, value, label, n, one",
        )
    )
    assert rows == _texts(
        [
            (1, None, 100, None, None, None),
            *((2, 1, 100, "A", 1, 1), (3, 1, 90, "B", 2, 1), (4, 1, 80, "B", 3, 1)),
            *((3, 2, 90, "A", 1, 1), (4, 2, 80, "B", 2, 1), (5, 2, 70, "B", 3, 1)),
            (6, None, 100, None, None, None),
        ]
    )


NAVIGATIONS: Sequence[tuple[str, Sequence[object]]] = [
    *[(name, (10, 20, 30)) for name in ("value", "LAST(value)", "RUNNING LAST(value)", "A.value")],
    ("FINAL LAST(value)", (30, 30, 30)),
    *[
        (name, (10, 10, 10))
        for name in ("FIRST(value)", "RUNNING FIRST(value)", "FINAL FIRST(value)", "FINAL LAST(value, 2)")
    ],
    ("FIRST(value, 2)", (30, 30, 30)),
    ("FINAL FIRST(value, 2)", (30, 30, 30)),
    *[
        (name, (None, None, None))
        for name in ("LAST(value, 10)", "FIRST(value, 10)", "PREV(FIRST(value), 10)", "PREV(LAST(value, 10), 2)")
    ],
    ("PREV(value)", (None, 10, 20)),
    ("NEXT(value)", (20, 30, None)),
    ("PREV(value, 0)", (10, 20, 30)),
    ("NEXT(FIRST(value), 2)", (30, 30, 30)),
    ("PREV(FINAL LAST(value))", (20, 20, 20)),
    ("value - FIRST(value) + FINAL LAST(id)", (3, 13, 23)),
    ("FIRST(coalesce(value, 0), 10)", (None, None, None)),
    ("coalesce(FIRST(value, 10), 0)", (0, 0, 0)),
    ("NEXT(classifier())", ("A", "A", None)),
    ("LAST(classifier() || cast(value AS varchar))", ("A10", "A20", "A30")),
    ("count(*)", (1, 2, 3)),
    ("count()", (1, 2, 3)),
    ("FINAL count(A.*)", (3, 3, 3)),
    ("avg(value)", (10.0, 15.0, 20.0)),
    ("RUNNING sum(value) * 2", (20, 60, 120)),
    ("array_join(array_agg(classifier()), '')", ("A", "AA", "AAA")),
    ("FINAL max_by(id, -value)", (1, 1, 1)),
    ("max(match_number())", (1, 1, 1)),
    ("cardinality(filter(ARRAY[1, 20, 40], x -> x > value))", (2, 1, 1)),
    ("FIRST(A.value) IN (10, LAST(A.value))", (True, True, True)),
]


@pytest.mark.parametrize(("measure", "expected"), NAVIGATIONS, ids=[navigation[0] for navigation in NAVIGATIONS])
def test_measures_go_to_their_rows(engine: Engine, measure: str, expected: Sequence[object]) -> None:
    query = _query("A+", "A AS true", values="(1, 10), (2, 20), (3, 30)", measures=f"{measure} AS m", columns="m")
    assert engine.rows(query) == _texts([(item,) for item in expected])


def _pattern_query(values: str, clause: str, columns: str = "*", names: str = "value") -> str:
    return f"SELECT {columns} FROM (VALUES {values}) t({names}) MATCH_RECOGNIZE ({clause})"


def _of_numbers(values: str, define: str, *, pattern: str = "(A | B)* X", subset: str = "") -> str:
    clause = f"ORDER BY value MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ({pattern}) {subset} DEFINE {define}"
    return _pattern_query(values, clause, "array_join(array_agg(c ORDER BY value), '')")


SUM = "PREV(LAST(A.value), 3) + FIRST(A.value) + PREV(LAST(B.value), 2)"
LABELS = "PREV(CLASSIFIER(U), 1) = 'A' AND LAST(CLASSIFIER(), 3) = 'B' AND FIRST(CLASSIFIER(U)) = 'B'"
EIGHT_B = " AND ".join(f"FIRST(CLASSIFIER(), {at}) = 'B'" for at in range(8))

CONDITIONS: Sequence[tuple[str, str | None]] = [
    (_of_numbers("1, 1", "X AS value = A.value"), "AX"),
    (_of_numbers("1, 1", "X AS value = B.value"), "BX"),
    (_of_numbers("1, 2, 3, 4, 5, 6", f"X AS value = {SUM}"), "BAAABX"),
    (_of_numbers("1, 2, 3, 4, 5", f"X AS {LABELS}", pattern="(A | B)* X $", subset="SUBSET U = (A, B)"), "BBAAX"),
    (_of_numbers("1, 2, 3, 4, 5, 6, 7, 8, 9", f"LAST AS {EIGHT_B}", pattern="(A | B)+ LAST"), "BBBBBBBBLAST"),
    (_of_numbers(", ".join(["1"] * 20), "A AS value = 1, B AS value = 2", pattern="(A+)+ B"), None),
    (_of_numbers("1, 2, 3", "A AS NEXT(CLASSIFIER()) = 'A'", pattern="A+"), None),
    # What Python computes: numbers, NULL, times, aggregates
    (_of_numbers("1, 2, 3, 4, 20", "A AS value <= 1 + coalesce(sum(A.value) - value, 9)", pattern="A+"), "AAAA"),
    (_of_numbers("1, 2, 3, 4, 9", "A AS count(*) <= 3", pattern="A+ B"), "AAAB"),
    (_of_numbers("1, 2, 3, 4, 9", "A AS avg(A.value) < 2.1", pattern="A+ $ | A B"), "AB"),
    (
        _of_numbers(
            "1, 2, 3, 4, 9", "B AS value > max(A.value) * 2 AND min(A.value) = 1 AND count(A.*) = 4", pattern="A+ B"
        ),
        "AAAAB",
    ),
    (
        _of_numbers("1, 2, 3, 4, 9", "B AS abs(A.value - value) BETWEEN 2 AND 3 AND value % A.value = 0", pattern="A B* B"),
        None,
    ),
    (_of_numbers("1, 2, 3, 4", "B AS value NOT IN (A.value + 2, 9) OR A.value IS NULL", pattern="A B*"), "ABAB"),
    (_of_numbers("1, 2, 3, NULL", "B AS value = A.value + 1", pattern="A B"), "ABAB"[:2]),
    (_of_numbers("1, 2, 3, NULL", "B AS value IS DISTINCT FROM A.value", pattern="A B{3}"), "ABBB"),
    (_of_numbers("'a', 'b', 'bb'", "B AS lower(upper(A.value)) <= lower(value)", pattern="A B+"), "ABB"),
    (_of_numbers("'a', 'b', 'bb'", "B AS coalesce(LAST(C.value), 'z') > value", pattern="A (B | C)+"), "ABB"),
    (_of_numbers("1e0, nan()", "B AS value <> B.value AND A.value <> value", pattern="A B"), "AB"),
    (_of_numbers("1.5, 2.5, 4.0", "B AS value = 2 * A.value - 0.5", pattern="A B"), "AB"),
    (
        _of_numbers(
            "TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2020-01-01 00:29:00', TIMESTAMP '2020-01-01 00:31:00'",
            "B AS date_diff('minute', FIRST(A.value), value) < 30 AND value - A.value < INTERVAL '30' MINUTE",
            pattern="A B*",
        ),
        "ABA",
    ),
    (_of_numbers("DATE '2020-01-01', DATE '2020-01-03'", "B AS value <= A.value + INTERVAL '2' DAY", pattern="A B"), "AB"),
    (_of_numbers("1, 2, 3", "B AS MATCH_NUMBER() = 2 AND A.value > 0", pattern="A B?"), "AAB"),
    (_of_numbers("1, 2", "A AS (SELECT true) AND FIRST(A.value < 0 OR 1 IN (SELECT 1))", pattern="A+"), "AA"),
]


def test_conditions_see_the_match_so_far(engine: Engine) -> None:
    results = [(query, engine.rows(query)) for query, _ in CONDITIONS]
    wrong = [
        (query, expected, rows)
        for (query, expected), (_, rows) in zip(CONDITIONS, results, strict=True)
        if rows != [(expected,)]
    ]
    assert wrong == []


def test_columns_have_trinos_order(engine: Engine) -> None:
    clause = "PARTITION BY part ORDER BY {} MEASURES CLASSIFIER() AS classy {} ROW{} PER MATCH PATTERN (A) DEFINE A AS true"
    for order, rows, expected in [
        ("id", "ALL", ("partitioning", "ordering", "A", "90")),
        ("id", "ONE", ("partitioning", "A")),
        ("id ASC, id DESC", "ALL", ("partitioning", "ordering", "ordering", "A", "90")),
    ]:
        text = clause.format(order, rows, "S" if rows == "ALL" else "")
        query = _pattern_query("('ordering', 'partitioning', 90)", text, names="id, part, value")
        assert engine.rows(query) == [expected]
        _, kinds = engine.translated(query)
        assert [str(kind) for kind in kinds] == [
            {"A": "varchar", "90": "integer"}.get(name, f"varchar({len(name)})") for name in expected
        ]


def test_partitions_are_matched_on_their_own(engine: Engine) -> None:
    values = """
        (1, 'p1', 90), (2, 'p1', 80), (6, 'p1', 80), (2, 'p2', 20), (2, NULL, 60), (1, NULL, 50), (3, 'p1', 70),
        (4, 'p1', 80), (5, 'p1', 90), (1, 'p2', 20), (3, NULL, 40), (3, 'p2', 10)"""
    clause = f"""
        PARTITION BY part ORDER BY id MEASURES match_number() AS match, PREV(RUNNING LAST(value)) AS val
        ALL ROWS PER MATCH PATTERN (B+) DEFINE {DOWN}"""
    names = "part, id, match, val"
    assert engine.rows(_pattern_query(values, clause, names, "id, part, value")) == _texts(
        [("p1", 2, 1, 90), ("p1", 3, 1, 80), ("p1", 6, 2, 90), ("p2", 3, 1, 20), (None, 3, 1, 60)]
    )
    assert engine.rows(f"{_pattern_query(values, clause, names, 'id, part, value')} WHERE false") == []
    empty = f"SELECT {names} FROM (SELECT * FROM (VALUES (1, 'p1', 90)) WHERE false) t(id, part, value)"
    assert engine.rows(f"{empty} MATCH_RECOGNIZE ({clause})") == []


def test_several_recognitions_stand_in_one_from(engine: Engine) -> None:
    one = "MATCH_RECOGNIZE (ORDER BY id MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH PATTERN ({0}) DEFINE {0} AS true)"
    query = (
        f"SELECT first.c, second.c, third.n FROM (VALUES 1, 2) t(id) {one.format('A')} AS first, "
        f"(VALUES 10, 20) t(id) {one.format('B')} AS second JOIN (VALUES 100) t(id) "
        f"{one.format('C')} AS third (i, n) ON true"
    )
    assert engine.rows(query) == [("A", "B", "C")] * 4
    again = "MATCH_RECOGNIZE (MEASURES last(c) AS d PATTERN (X+) DEFINE X AS c = 'A')"
    nested = f"SELECT d FROM (SELECT * FROM (VALUES 1, 2) t(id) {one.format('A')}) {again}"
    assert engine.rows(nested) == [("A",)]


def test_variables_without_quotes_are_in_upper_case(engine: Engine) -> None:
    rows = engine.rows(
        _query('a "b"+ C+', '"b" AS "b".value < PREV("b".value), C AS C.value >= PREV(C.value)', columns="id, label")
    )
    assert rows == [("1", "A"), ("2", "b"), ("3", "b"), ("4", "C")]


def test_fields_of_rows_are_not_variables(engine: Engine) -> None:
    query = _pattern_query(
        "(1, CAST(ROW(5) AS row(x integer))), (2, CAST(ROW(4) AS row(x integer)))",
        "ORDER BY id MEASURES LAST(B.r.x) AS one, r.x AS other PATTERN (A B) DEFINE B AS r.x < A.r.x AND B.r.x < PREV(r.x)",
        names="id, r",
    )
    assert engine.rows(query) == [("4", "4")]


# The sign ~ stands before the place that the error names.
ERRORS: Sequence[tuple[str, str]] = [
    ("ORDER BY value PATTERN (A) SUBSET ~A = (A) DEFINE A AS true", "INVALID_LABEL"),
    ("ORDER BY value PATTERN (A) SUBSET U = (A), ~U = (A) DEFINE A AS true", "INVALID_LABEL"),
    ("ORDER BY value PATTERN (A) SUBSET U = (~B) DEFINE A AS true", "INVALID_LABEL"),
    ("ORDER BY value PATTERN (A) DEFINE ~B AS true", "INVALID_LABEL"),
    ("PATTERN (A) DEFINE A AS true, ~A AS false", "INVALID_LABEL"),
    ("AFTER MATCH SKIP TO ~B PATTERN (A) DEFINE A AS true", "INVALID_LABEL"),
    ("PATTERN (A~{3,2}) DEFINE A AS true", "INVALID_RANGE"),
    ("PATTERN (A~{0}) DEFINE A AS true", "NUMERIC_VALUE_OUT_OF_RANGE"),
    ("PATTERN (A~{99999999999,}) DEFINE A AS true", "NUMERIC_VALUE_OUT_OF_RANGE"),
    ("ALL ROWS PER MATCH PATTERN (A{100000}) DEFINE A AS true", "NOT_SUPPORTED: The row pattern"),
    ("PATTERN (A) DEFINE A AS true", "NOT_SUPPORTED: MATCH_RECOGNIZE with ONE ROW PER MATCH needs"),
    ("ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (~{- A -}) DEFINE A AS true", "INVALID_ROW_PATTERN"),
    ("PATTERN (A) DEFINE A AS FINAL ~LAST(value) = 1", "INVALID_PROCESSING_MODE"),
    ("PATTERN (A) DEFINE A AS FINAL ~count(*) = 1", "INVALID_PROCESSING_MODE"),
    ("MEASURES ~LAST(1) AS m PATTERN (A) DEFINE A AS true", "INVALID_ARGUMENTS"),
    ("MEASURES LAST(A.~value + B.value) AS m PATTERN (A B) DEFINE A AS true", "INVALID_ARGUMENTS"),
    ("MEASURES ~max_by(A.value, value) AS m PATTERN (A B) DEFINE A AS true", "INVALID_ARGUMENTS"),
    ("MEASURES LAST(~PREV(value)) AS m PATTERN (A) DEFINE A AS true", "INVALID_NAVIGATION_NESTING"),
    ("MEASURES LAST(~sum(value)) AS m PATTERN (A) DEFINE A AS true", "NESTED_AGGREGATION"),
    ("MEASURES sum(~LAST(value)) AS m PATTERN (A) DEFINE A AS true", "INVALID_NAVIGATION_NESTING"),
    ("MEASURES ~LAST(value, -1) AS m PATTERN (A) DEFINE A AS true", "INVALID_FUNCTION_ARGUMENT"),
    ("MEASURES ~classifier(X) AS m PATTERN (A) DEFINE A AS true", "INVALID_FUNCTION_ARGUMENT"),
    ("MEASURES ~sum(value) OVER () AS m PATTERN (A) DEFINE A AS true", "NOT_SUPPORTED"),
    ("PARTITION BY ~value + 1 PATTERN (A) DEFINE A AS true", "INVALID_COLUMN_REFERENCE"),
    ("ALL ROWS PER MATCH PATTERN (A) DEFINE A AS value + 1", "TYPE_MISMATCH"),
    ("ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS A.value + value", "TYPE_MISMATCH"),
    ("ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS A.value = 'x'", "TYPE_MISMATCH"),
    ("ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS A.~other = 1", "COLUMN_NOT_FOUND"),
    ("MEASURES A.~other AS m PATTERN (A) DEFINE A AS true", "COLUMN_NOT_FOUND"),
    ("PATTERN (A B) DEFINE B AS ~greatest(A.value, value) = 1", "NOT_SUPPORTED"),
    ("PATTERN (A B) DEFINE B AS ~array_agg(A.value) = ARRAY[value]", "NOT_SUPPORTED"),
    ("ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS CAST(A.value AS real) < value", "NOT_SUPPORTED: In DEFINE, '<' of reals"),
    ("ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS A.value / (value - value) = 1", "DIVISION_BY_ZERO"),
    ("ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS A.value * 2147483647 = value", "NUMERIC_VALUE_OUT_OF_RANGE"),
]


def test_errors_have_trinos_codes_and_positions(engine: Engine) -> None:
    wrong = []
    for marked, code in ERRORS:
        query = _pattern_query("1, 2, 3", marked)
        expected = f"{code}: line 1:{query.index('~') + 1}: " if "~" in query else code
        try:
            answer = str(engine.rows(query.replace("~", "")))
        except StatementError as error:
            answer = str(error)
        if not answer.startswith(expected):
            wrong.append((marked, expected, answer))
    assert wrong == []


@pytest.mark.parametrize(
    "clause",
    [
        "PATTERN (A |) DEFINE A AS true",
        "PATTERN (A **) DEFINE A AS true",
        "PATTERN (A B",
        "PATTERN (A{a}) DEFINE A AS true",
        "PATTERN ({- A) DEFINE A AS true",
        "PATTERN (A)",
        "MEASURES value PATTERN (A) DEFINE A AS true",
        "DEFINE A AS true",
    ],
)
def test_clauses_that_trino_does_not_have_are_syntax_errors(clause: str) -> None:
    with pytest.raises(InvalidRequest, match="mismatched input"):
        read_query(_pattern_query("1", clause))


def test_a_question_mark_in_a_pattern_is_not_a_parameter() -> None:
    query = _pattern_query("1, 2", "PATTERN (A+? B??) DEFINE A AS value > ?")
    assert [token.text for token in parameter_places(f"{query} WHERE value < ?")] == ["?", "?"]

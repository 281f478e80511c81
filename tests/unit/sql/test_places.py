"""Every documented result is the same over columns, aggregates, windows and subqueries, in lambdas, and over many rows.

The statements are made from the examples of the table of functions (:mod:`tests.unit.sql.places`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from sqlglot import exp

from penstock.sql.errors import StatementError
from penstock.sql.functions.rows import ArrowFunction
from penstock.sql.functions.table import row_of
from penstock.sql.grammar import TrinoCalls
from penstock.sql.library import definitions_of
from tests.unit.sql.engine import Engine
from tests.unit.sql.places import FILES, PLACES, Constants, Placed, examples

_BATCH = 40  # calls in one statement
_COPIES = 33_334  # of the table's three rows
_COPIES_FOR_PYTHON = 3_334

# Calls that are refused for a value that is no literal. Trino does so for JSON paths, the digits of the clock's functions
# and the index of a row; docs/lake/sql-functions.md has a note on the others.
_LITERALS = {
    *("combinations", "date_format", "date_parse", "format", "format_datetime", "from_unixtime", "parse_datetime"),
    *("round", "truncate"),
    *("current_timestamp", "json_exists", "json_query", "json_value", "localtime", "localtimestamp", "row"),
}
# Trino itself refuses a NULL in these: keys of maps and JSON objects, orders of rows and arrays, what a comparator returns,
# the points of a line.
_REFUSES_NULL = re.compile(
    r"json_object\(|MAP\(|_from_entries|array_sort\(.*->|cosine|^(?:ROW|ARRAY|\().* (?:[<>]=?|BETWEEN) "
    r"|(?:[<>]=?|BETWEEN) (?:ROW|ARRAY|\()|ST_LineString\(ARRAY|ST_MultiPoint\(ARRAY",
    re.IGNORECASE,
)
# What makes a value of NULL: constructors, conditions, texts that skip NULL.
_TAKES_NULL = re.compile(
    r"ARRAY\[|ROW\(|^\(|->|\bCASE\b|\bif\(|coalesce|nullif|IS NULL|BETWEEN|typeof|format\(|concat_ws|json|repeat\(|nan\(",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class World:
    """An engine with the constants of one file's examples."""

    engine: Engine
    calls: Sequence[Placed]


@pytest.fixture(scope="module", params=FILES, ids=[file.stem for file in FILES])
def world(request: pytest.FixtureRequest) -> World:
    engine = Engine()
    placeds = Constants(engine).placed(examples(request.param))
    # Patterns from data are Python's, which has no classes of POSIX.
    return World(engine, [placed for placed in placeds if placed.columns and "[[:" not in placed.example.expression])


def _rows(engine: Engine, calls: Sequence[str], tail: str) -> Iterator[tuple[str, Sequence[str | None] | str]]:
    """Yield each call with its values, or its error; what fails together is run in halves."""
    try:
        rows = engine.rows(f"SELECT {', '.join(calls)} FROM {tail}")
    except StatementError as error:
        if len(calls) == 1:
            yield calls[0], str(error)
            return
        half = len(calls) // 2
        yield from _rows(engine, calls[:half], tail)
        yield from _rows(engine, calls[half:], tail)
        return
    yield from zip(calls, zip(*rows, strict=True), strict=True)


def _wrong(world: World, calls: Sequence[tuple[str, str | None]], tail: str) -> Sequence[str]:
    """Return the calls, with what is expected of them, that have another result in the first or the last row of ``tail``."""
    wrong = []
    for at in range(0, len(calls), _BATCH):
        batch = calls[at : at + _BATCH]
        for (_, expected), (call, got) in zip(batch, _rows(world.engine, [call for call, _ in batch], tail), strict=True):
            if isinstance(got, str) or {got[0], got[-1]} != {expected}:
                wrong.append(f"{call}: expected {expected!r}, got {got!r}")
    return wrong


@pytest.mark.parametrize("place", [*PLACES, "a lambda"])
def test_a_call_has_its_documented_result_over(world: World, place: str) -> None:
    """Rows without NULLs are as documented also if there are rows with NULLs between them."""
    calls = [
        (call.written(PLACES[place]) if place in PLACES else call.in_lambda(), call.example.value) for call in world.calls
    ]
    refusing = [bool(_REFUSES_NULL.search(call.example.expression)) for call in world.calls]
    order = "" if place == "an aggregate" else " ORDER BY id"
    with_nulls = [call for call, refuses in zip(calls, refusing, strict=True) if not refuses]
    without = [call for call, refuses in zip(calls, refusing, strict=True) if refuses]
    assert _wrong(world, with_nulls, f"constants{order}") == []
    assert _wrong(world, without, f"constants WHERE id <> 1{order}") == []


def test_a_call_with_a_null_is_null(world: World) -> None:
    chosen = [call for call in world.calls if not _TAKES_NULL.search(call.example.expression)]
    calls = [(call, None) for placed in chosen for call in placed.with_null()]
    assert _wrong(world, [call for call in calls if "MAP(" not in call[0]], "constants WHERE id = 0") == []


def test_only_some_calls_need_literals(world: World) -> None:
    needs = {name for call in world.calls if call.kept for name in _functions(call.example.expression)}
    assert not needs or needs & _LITERALS, needs


def test_calls_over_aggregates_are_conditions_and_orders(world: World) -> None:
    chosen = [placed for placed in _one_of_each(world) if "->" not in placed.example.expression]
    for at in range(0, len(chosen), _BATCH):
        calls = [f"if(({placed.written('arbitrary({})')}) IS NULL, 1, 1)" for placed in chosen[at : at + _BATCH]]
        having = f"HAVING {' + '.join(calls)} = {len(calls)} ORDER BY {', '.join(calls)}, id"
        assert world.engine.rows(f"SELECT id FROM constants WHERE id <> 1 GROUP BY id {having}") == [("0",), ("2",)]


def test_many_rows_with_nulls_have_the_documented_results(world: World) -> None:
    """One example of each function, over 100,000 rows, of which every third has NULLs."""
    chosen = [placed for placed in _one_of_each(world) if not _REFUSES_NULL.search(placed.example.expression)]
    in_python = [placed for placed in chosen if _calls_python(world.engine, placed)]
    in_engine = [placed for placed in chosen if placed not in in_python]
    for calls, copies in ((in_engine, _COPIES), (in_python, _COPIES_FOR_PYTHON)):
        for at in range(0, len(calls), _BATCH):
            assert _wrong_of_many(world.engine, calls[at : at + _BATCH], copies) == []


def _one_of_each(world: World) -> Sequence[Placed]:
    """Return an example of each function."""
    seen: set[str] = set()
    chosen = []
    for call in world.calls:
        names = _functions(call.example.expression)
        if not names <= seen:
            chosen.append(call)
            seen |= names
    return chosen


def _calls_python(engine: Engine, placed: Placed) -> bool:
    text, _ = engine.translated(f"SELECT {placed.written('{}')} FROM constants")
    return any(isinstance(item, ArrowFunction) for item in definitions_of(text))


def _wrong_of_many(engine: Engine, calls: Sequence[Placed], copies: int) -> Sequence[str]:
    columns = sorted({column for call in calls for column in call.columns})
    engine.repeat("constants", ["id", *columns], "many", copies)
    rows = engine.rows(f"SELECT id, {', '.join(call.written('{}') for call in calls)} FROM many", distinct=True)
    assert [row[0] for row in rows] == ["0", "1", "2"]
    values = zip(calls, zip(*(row[1:] for row in rows), strict=True), strict=True)
    return [placed.example.expression for placed, got in values if {got[0], got[2]} != {placed.example.value}]


def _functions(expression: str) -> set[str]:
    (tree,) = TrinoCalls().parse(f"SELECT {expression}")
    assert tree is not None
    return {row.name for node in tree.find_all(exp.Expr) if (row := row_of(node)) is not None}


def test_collections_of_many_rows_take_memory_in_proportion() -> None:
    """A million rows of three keys, in an engine of 512 MB: maps and arrays are made by sorting, not by searching."""
    engine = Engine()
    engine.connection.execute("SET memory_limit = '512MB'; SET threads = 1")
    engine.create("few", "SELECT i, 'k' || CAST(i % 3 AS varchar) AS k FROM UNNEST(sequence(0, 9999)) AS t(i)")
    engine.repeat("few", ["i", "k"], "many", 100)
    assert engine.rows(
        "SELECT map_agg(k, i), transform_values(multimap_agg(k, i), (k, v) -> cardinality(v)), histogram(k), "
        "map_union(MAP(ARRAY[k], ARRAY[i])), array_sort(array_distinct(array_agg(k))) FROM many"
    ) == [
        (
            "{k0=0, k1=1, k2=2}",
            "{k0=333400, k1=333300, k2=333300}",
            "{k0=333400, k1=333300, k2=333300}",
            "{k0=0, k1=1, k2=2}",
            "[k0, k1, k2]",
        )
    ]
    assert engine.rows(
        "SELECT cardinality(multimap_agg(i, k)), cardinality(map_agg(i, k)), array_except(array_agg(k), ARRAY['k1']), "
        "array_intersect(array_agg(k), array_agg(k)), cardinality(array_union(array_agg(i), array_agg(i))) FROM few"
    ) == [("10000", "10000", "[k0, k2]", "[k0, k1, k2]", "10000")]

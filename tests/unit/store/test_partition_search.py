"""What stores find by their index of values is what the expression itself takes of all partitions."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.catalog.model import Column, Database, Partition, StorageDescriptor, Table
from penstock.catalog.partitions.filters import PartitionFilter, Segment, partition_filter
from penstock.catalog.partitions.keys import partition_key
from penstock.catalog.partitions.values import kind_of, order_text, reader
from penstock.errors import InvalidInput
from penstock.store.sql.catalog import partition_search
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.store.sql.catalog.tables import partition_postings, partition_values
from penstock.testing.sqlite import new_database

NOW = datetime(2026, 11, 22, tzinfo=UTC)
NULL = "__HIVE_DEFAULT_PARTITION__"
VALUES: dict[str, Sequence[str]] = {
    "string": ("a", "b", "ab", "a%", "_", "A", "é", "b\x01", "b\x02", "2013", "2013-01-31", NULL),
    "int": ("1", "01", "2", "10", "-3", "-20", "0", "1e1", "+2", "7.0", NULL),
    "decimal(9,2)": ("1", "1.5", "1.50", "-0.25", "-0.3", "10", "99.99", "0", ".5", NULL),
    "date": ("2013-01-31", "2013-02-01", "1999-12-31", "0001-01-01", NULL),
    "timestamp": ("2013-01-31", "2013-01-31 00:00:00", "2013-01-31T00:00:01", "2013-01-31 00:00:00.5", NULL),
}
OPERATORS = ("=", "<>", "<", "<=", ">", ">=")


def table(types: Sequence[str]) -> Table:
    keys = tuple(Column(name=f"k{number}", type=type_) for number, type_ in enumerate(types))
    return Table(
        database="d", name="t", version_id="0", storage=StorageDescriptor(), partition_keys=keys,
        create_time=NOW, update_time=NOW,
    )  # fmt: skip


def partition(values: Sequence[str]) -> Partition:
    return Partition(database="d", table="t", values=values, storage=StorageDescriptor(), create_time=NOW)


def literal(kind: str) -> st.SearchStrategy[str]:
    # Stored timestamps may be dates, those of expressions may not.
    whole = ("2013-01-31 00:00:00", "2013-01-31 00:00:01", "2013-01-31 00:00:00.5") if kind == "timestamp" else VALUES[kind]
    return st.sampled_from([name for name in whole if name != NULL]).map(lambda name: f"'{name}'")


def comparison(number: int, kind: str) -> st.SearchStrategy[str]:
    key = f"k{number}"
    one = literal(kind)
    made = [
        st.builds(lambda op, value: f"{key} {op} {value}", st.sampled_from(OPERATORS), one),
        st.builds(lambda op, value: f"{value} {op} {key}", st.sampled_from(OPERATORS), one),
        st.builds(lambda no, low, high: f"{key} {no} BETWEEN {low} AND {high}", st.sampled_from(["", "NOT"]), one, one),
        st.builds(
            lambda no, items: f"{key} {no} IN ({', '.join(items)})",
            st.sampled_from(["", "NOT"]), st.lists(one, min_size=1, max_size=3),
        ),
        st.sampled_from([f"{key} IS NULL", f"{key} IS NOT NULL"]),
    ]  # fmt: skip
    if kind == "string":
        patterns = st.sampled_from(["a%", "%b", "_", "a_", "2013%", "é%", "ab", "%"])
        made.append(st.builds(lambda no, text: f"{key} {no} LIKE '{text}'", st.sampled_from(["", "NOT"]), patterns))
    return st.one_of(made)


def expressions(types: Sequence[str]) -> st.SearchStrategy[str]:
    leaves = st.one_of([comparison(number, kind) for number, kind in enumerate(types)])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda a, b: f"({a} AND {b})", inner, inner),
            st.builds(lambda a, b: f"({a} OR {b})", inner, inner),
            st.builds(lambda a: f"NOT ({a})", inner),
        ),
        max_leaves=6,
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Sequence[str], Sequence[Sequence[str]], str]:
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    rows = draw(st.lists(st.tuples(*(st.sampled_from(VALUES[kind]) for kind in types)), unique=True, max_size=25))
    return types, rows, draw(expressions(types))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlCatalogStore]:
    sql = new_database(tmp_path / "catalog.db")
    sql_catalog_store = SqlCatalogStore(sql)
    sql_catalog_store.create_database(Database(name="d", create_time=NOW), limit=10)
    yield sql_catalog_store
    sql.close()


def remade(store: SqlCatalogStore, types: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    if store.table("d", "t") is not None:
        store.delete_table("d", "t")
    made = table(types)
    store.create_table(made, limit=10)
    store.create_partitions([partition(row) for row in rows])
    return made


# The plans for few and for many values, ranges and partitions, all on small tables.
PLANS = [
    {},
    {"_MOST_VALUES": 2},
    {"_FEW": 2, "_LARGEST": 2, "_FIRST": 1, "_SMALLEST": 1, "_GROUP": 2},
    {"_MOST_SEEKS": 0, "_LARGEST": 2, "_FIRST": 2, "_CHUNK": 1},
    {"_MOST_SEEKS": 0, "_FEW": 0, "_LARGEST": 1, "_MOST_RANGES": 2},
]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: ",".join(plan) or "as it is")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases(), segments=st.sampled_from([None, 2]), size=st.integers(1, 5))
def test_every_plan_finds_what_the_expression_takes(
    store: SqlCatalogStore,
    plan: dict[str, int],
    case: tuple[Sequence[str], Sequence[Sequence[str]], str],
    segments: int | None,
    size: int,
) -> None:
    types, rows, text = case
    made = remade(store, types, rows)
    wanted = partition_filter(made, text, Segment(number=0, total=segments) if segments else None)
    assert wanted is not None
    expected = sorted((tuple(row) for row in rows if wanted.matches(row)), key=partition_key)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in plan.items():
            patch.setattr(partition_search, name, value)
        assert store.list_values("d", "t", after=None, limit=None, matching=wanted) == expected
        assert (
            store.list_values("d", "t", after=None, limit=None, matching=PartitionFilter(matches=wanted.matches)) == expected
        )
        paged: list[Sequence[str]] = []
        after: str | None = None
        while results := store.list_values("d", "t", after=after, limit=size, matching=wanted):
            paged += results
            after = partition_key(results[-1])
        assert paged == expected


@pytest.mark.parametrize(
    ("key", "bad", "text"),
    [
        ("int", "x", "k0 = 1"),
        ("int", "1.5", "k0 = 1"),
        ("date", "10", "k0 < '2013-01-31'"),
        ("decimal", "2013-01-31", "k0 > 0"),
    ],
)
def test_a_value_of_another_type_is_an_error_and_not_a_missing_row(
    store: SqlCatalogStore, key: str, bad: str, text: str
) -> None:
    made = remade(store, (key, "string"), [(bad, "b"), (VALUES.get(key, ("1",))[0], "a")])
    with pytest.raises(InvalidInput, match=f"has '{bad}' for k0"):
        store.list_values("d", "t", after=None, limit=None, matching=partition_filter(made, text))
    assert store.list_values("d", "t", after=None, limit=None, matching=partition_filter(made, "k1 = 'b'")) == [(bad, "b")]


def test_the_index_of_values_goes_with_the_partitions(store: SqlCatalogStore) -> None:
    rows = [(str(year), str(month)) for year in (2013, 2014) for month in range(3)]
    remade(store, ("int", "int"), rows)

    def counted() -> tuple[list[tuple[int, str, int]], int]:
        with store._sql.read() as connection:
            values = connection.execute(partition_values.select()).all()
            return sorted((row.position, row.value, row._mapping["count"]) for row in values), len(
                connection.execute(partition_postings.select()).all()
            )

    assert counted() == ([(0, "2013", 3), (0, "2014", 3), (1, "0", 2), (1, "1", 2), (1, "2", 2)], 6)
    store.create_partitions([partition(("2013", "0")), partition(("2015", "0"))])
    store.delete_partitions("d", "t", [*rows[:3], ("2000", "1")])
    assert counted() == ([(0, "2014", 3), (0, "2015", 1), (1, "0", 2), (1, "1", 1), (1, "2", 1)], 4)
    store.delete_table("d", "t")
    assert counted() == ([], 0)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
)
def test_texts_of_numbers_sort_as_the_numbers(first: object, second: object) -> None:
    read = reader("n", "decimal")
    a, b = (read(f"{item:f}"[:60]) for item in (first, second))
    assert (order_text(a) < order_text(b)) is (a < b)  # type: ignore[operator]
    assert (order_text(a) == order_text(b)) is (a == b)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("7", "integer"), ("7.0", "integer"), ("7.5", "decimal"), ("2013-01-31", "date"), ("2013-02-30", "text"),
        ("2013-01-31 05:17:00", "timestamp"), ("x", "text"), (NULL, "null"), ("", "text"),
    ],
)  # fmt: skip
def test_the_kind_of_a_text_is_the_narrowest(text: str, kind: str) -> None:
    assert kind_of(text)[0] == kind

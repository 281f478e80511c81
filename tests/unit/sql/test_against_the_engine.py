"""Whole queries in Trino's dialect have the results of the engine's own run of the same query in its dialect."""

from collections.abc import Mapping
from decimal import Decimal

import duckdb
import pytest
from sqlglot import exp

from penstock.sql.grammar import TrinoCalls
from penstock.sql.library import install
from penstock.sql.translate import to_engine
from penstock.sql.trino_types import Type

TABLES = {
    "item": {"i_id": "bigint", "i_brand": "string", "i_class": "string", "i_price": "decimal(7,2)"},
    "shop": {"s_id": "bigint", "s_state": "string", "s_opened": "date"},
    "sale": {
        "o_id": "bigint",
        "o_item": "bigint",
        "o_shop": "bigint",
        "o_day": "date",
        "o_quantity": "int",
        "o_paid": "decimal(12,2)",
        "o_discount": "double",
    },
}
ROWS = {
    "item": "SELECT i, 'brand ' || i % 7, 'class ' || i % 3, (i * 37 % 1000) / 10 + 1 FROM range(1, 60) t(i)",
    "shop": "SELECT i, ['TN', 'CA', 'NY'][i % 3 + 1], DATE '1999-01-01' + CAST(i * 13 AS INTEGER) FROM range(1, 9) t(i)",
    "sale": (
        "SELECT i, i * 31 % 59 + 1, CASE WHEN i % 17 = 0 THEN NULL ELSE i * 7 % 8 + 1 END, "
        "DATE '2000-01-01' + CAST(i * 11 % 730 AS INTEGER), i % 10 + 1, (i * 7919 % 100000) / 100, (i % 5) / 10 "
        "FROM range(1, 2000) t(i)"
    ),
}
BOTH = [
    "SELECT i_brand, count(*), sum(o_paid), min(o_day), max(o_quantity) FROM sale JOIN item ON o_item = i_id "
    "WHERE o_day BETWEEN DATE '2000-02-01' AND DATE '2000-12-31' GROUP BY i_brand ORDER BY 3 DESC, 1",
    "SELECT s_state, sum(CASE WHEN o_quantity > 5 THEN 1 ELSE 0 END) AS many, count(DISTINCT o_item) "
    "FROM sale, shop WHERE o_shop = s_id GROUP BY s_state HAVING count(*) > 10 ORDER BY 1",
    "WITH totals AS (SELECT o_shop AS shop, o_item AS item, sum(o_paid) AS paid FROM sale GROUP BY 1, 2) "
    "SELECT t.shop, t.item FROM totals t WHERE t.paid > (SELECT 1.2 * CAST(avg(u.paid) AS double) FROM totals u "
    "WHERE u.shop = t.shop) ORDER BY 1, 2",
    "SELECT i_class, i_brand, sum(o_paid) FROM sale JOIN item ON o_item = i_id GROUP BY ROLLUP (i_class, i_brand) "
    "ORDER BY 1 NULLS LAST, 2 NULLS LAST",
    "SELECT i_class, s_state, sum(o_quantity) FROM sale JOIN item ON o_item = i_id LEFT JOIN shop ON o_shop = s_id "
    "GROUP BY GROUPING SETS ((i_class, s_state), (i_class), ()) ORDER BY 1 NULLS LAST, 2 NULLS LAST, 3",
    "SELECT * FROM (SELECT o_shop, o_id, rank() OVER (PARTITION BY o_shop ORDER BY o_paid DESC, o_id) AS place FROM sale) r "
    "WHERE place <= 3 ORDER BY 1 NULLS LAST, 3",
    "SELECT o_day, sum(sum(o_paid)) OVER (ORDER BY o_day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM sale "
    "GROUP BY o_day ORDER BY o_day",
    "SELECT i_id FROM item WHERE NOT EXISTS (SELECT 1 FROM sale WHERE o_item = i_id AND o_paid > 900) ORDER BY 1",
    "SELECT i_id FROM item WHERE i_id IN (SELECT o_item FROM sale WHERE o_paid > 990) ORDER BY 1",
    "SELECT o_item FROM sale WHERE o_shop = 1 INTERSECT SELECT o_item FROM sale WHERE o_shop = 2 ORDER BY 1",
    "SELECT o_item FROM sale WHERE o_shop = 1 EXCEPT SELECT o_item FROM sale WHERE o_shop = 3 AND o_quantity > 8 ORDER BY 1",
    "SELECT coalesce(s_state, 'none') AS state, sum(o_paid * o_quantity) FROM sale LEFT JOIN shop ON o_shop = s_id "
    "GROUP BY 1 ORDER BY 1",
    "SELECT sum(o_paid * (1 - o_discount)), sum(o_paid * 0.5) FROM sale WHERE o_discount < 0.3",
    "SELECT lag(o_id) OVER (ORDER BY o_paid, o_id), o_id FROM sale ORDER BY o_paid, o_id LIMIT 20",
    "SELECT a.o_id FROM sale a JOIN sale b ON a.o_item = b.o_item AND a.o_day < b.o_day AND b.o_paid > 990 ORDER BY 1",
    "SELECT substr(i_brand, 1, 5) || '-' || upper(i_class), avg(o_discount) FROM sale JOIN item ON o_item = i_id "
    "GROUP BY 1 ORDER BY 1",
]
PAIRS = [
    (
        "SELECT count(*) FROM sale WHERE o_day >= DATE '2000-03-01' - INTERVAL '30' DAY AND o_day < DATE '2000-03-01' "
        "+ INTERVAL '3' MONTH",
        "SELECT count(*) FROM sale WHERE o_day >= DATE '2000-01-31' AND o_day < DATE '2000-06-01'",
    ),
    (
        "SELECT year(o_day), month(o_day), CAST(sum(o_paid) / count(*) AS double) FROM sale GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT year(o_day), month(o_day), round(CAST(sum(o_paid) AS DOUBLE) / count(*), 2) FROM sale GROUP BY 1, 2 "
        "ORDER BY 1, 2",
    ),
    (
        "SELECT date_trunc('month', o_day), approx_distinct(o_shop) > 0, count_if(o_quantity > 3) FROM sale GROUP BY 1 "
        "ORDER BY 1",
        "SELECT CAST(date_trunc('month', o_day) AS DATE), true, count(*) FILTER (o_quantity > 3) FROM sale GROUP BY 1 "
        "ORDER BY 1",
    ),
    (
        "SELECT o_quantity / 3, sum(o_quantity % 4), avg(o_paid) FROM sale GROUP BY 1 ORDER BY 1",
        "SELECT o_quantity // 3, sum(o_quantity % 4), CAST(round(avg(o_paid), 2) AS DECIMAL(12, 2)) FROM sale GROUP BY 1 "
        "ORDER BY 1",
    ),
]


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(":memory:")
    made.execute("SET TimeZone = 'UTC'")
    for name, columns in TABLES.items():
        definitions = ", ".join(f"{column} {type_.replace('string', 'VARCHAR')}" for column, type_ in columns.items())
        made.execute(f"CREATE TABLE {name} ({definitions})")
        made.execute(f"INSERT INTO {name} {ROWS[name]}")
    return made


def _columns(table: exp.Table) -> Mapping[str, Type | None]:
    return {column: Type.of_hive(type_) for column, type_ in TABLES[table.name].items()}


@pytest.mark.parametrize(("trino", "own"), [*((sql, sql) for sql in BOTH), *PAIRS])
def test_a_query_has_the_engines_rows(connection: duckdb.DuckDBPyConnection, trino: str, own: str) -> None:
    (tree,) = TrinoCalls().parse(trino)
    assert isinstance(tree, exp.Query)
    kinds = to_engine(tree, _columns)
    assert None not in kinds, f"types of columns are not known: {kinds}"
    translated = tree.sql("duckdb", comments=False)
    install(connection, translated)
    actual, expected = connection.sql(translated).fetchall(), connection.sql(own).fetchall()
    assert len(actual) > 0
    assert [tuple(map(_plain, row)) for row in actual] == [tuple(map(_plain, row)) for row in expected]


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    return round(value, 6) if isinstance(value, float) else value

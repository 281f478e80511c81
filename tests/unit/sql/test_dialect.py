"""Which SQL is accepted, and the errors for the rest."""

import pytest

from penstock.sql.errors import InvalidRequest
from penstock.sql.parse import parse
from penstock.sql.statements.model import Explain, Select, Show


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("TRUNCATE TABLE x", "TRUNCATE TABLE"),
        ("SHOW GRANTS", "SHOW GRANTS"),
        ("COPY t TO 'x'", "COPY"),
        ("ATTACH 'x.db'", "ATTACH"),
        ("PRAGMA database_list", "PRAGMA"),
        ("INSTALL httpfs", "INSTALL"),
        ("LOAD httpfs", "LOAD"),
        ("SET memory_limit = '1TB'", "SET"),
        ("SELECT * INTO x FROM t", "INTO"),
        ("SELECT 1; SELECT 2", "Only one sql statement is allowed"),
        ("SELECT 1; DROP TABLE x", "Only one sql statement is allowed"),
        ("SELECT a FROM t WHERE", "line 1:17"),
        ("SELECT 'abc", "quote"),
        ("", "empty"),
        ("-- nothing", "empty"),
        ("SELECT * FROM read_csv('/etc/passwd')", "READ_CSV"),
        ("SELECT * FROM read_parquet('/x')", "READ_PARQUET"),
        ("SELECT * FROM glob('*')", "GLOB"),
        ("SELECT * FROM duckdb_settings()", "DUCKDB_SETTINGS"),
        ("SELECT * FROM query('SELECT 1')", "QUERY"),
        ("SELECT * FROM TABLE(x(1))", "table function"),
        ("WITH a AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM a", "READ_TEXT"),
        ("SELECT (SELECT content FROM read_text('/etc/passwd'))", "READ_TEXT"),
        ("SELECT @x", "variable @x"),
        ("SELECT " + "(" * 101 + "1" + ")" * 101, "deep"),
        ("SELECT " + "- " * 5000 + "1", "deep"),
        ("SELECT " + "NOT " * 5000 + "true", "deep"),
        ("SELECT * FROM t WHERE x IN (" + ", ".join(["1"] * 30_000) + ")", "50000"),
    ],
)
def test_unsupported_sql_is_refused_by_name(sql: str, words: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(sql)
    assert words.lower() in str(refused.value).lower()
    assert "<class" not in str(refused.value)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("selec 1", "line 1:1: mismatched input 'selec'. Athena's statements are supported, among them SELECT, WITH,"),
        ("GRANT SELECT ON x", "line 1:1: GRANT SELECT statements are not supported. Athena's statements are supported,"),
        ("SELECT FROM", "line 1:8: mismatched input 'FROM': Expected table name but the statement ends."),
        ("SELECT * FROM 1", "line 1:15: mismatched input '1': Expected table name but got '1'."),
    ],
)
def test_refusals_are_sentences(sql: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse(sql)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;",
        " \n-- why\n/* not */ SELECT 1",
        "(SELECT 1) UNION ALL SELECT 2",
        "VALUES (1, 2), (3, 4)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
    ],
)
def test_queries_are_accepted(sql: str) -> None:
    parsed = parse(sql)
    assert isinstance(parsed, Select)
    assert (parsed.type, parsed.substatement) == ("DML", "SELECT")


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("show schemas like 'a*'", "DATABASES"),
        ("SHOW TABLES FROM `my-db` LIKE 'x|y'", "TABLES"),
        ("SHOW COLUMNS IN t FROM db", "COLUMNS"),
        ('SHOW CREATE TABLE "db"."t";', "CREATE_TABLE"),
        ("-- c\nSHOW PARTITIONS awsdatacatalog.db.t", "PARTITIONS"),
    ],
)
def test_shows_are_recognised(sql: str, what: str) -> None:
    parsed = parse(sql)
    assert isinstance(parsed, Show)
    assert parsed.what == what


def test_explain_keeps_positions() -> None:
    parsed = parse("EXPLAIN SELECT x FROM t")
    assert isinstance(parsed, Explain)
    assert isinstance(parsed.statement, Select)
    tree = parsed.statement.tree
    assert next(node.meta["col"] for node in tree.find_all(type(tree.expressions[0].this))) == 16


@pytest.mark.parametrize(
    "value", ["1 -- x", "(SELECT 1)", "x", "1; DROP TABLE t", "f(1)", "", "'a' OR 1=1", "read_text('x')"]
)
def test_parameters_are_constants(value: str) -> None:
    if value == "1 -- x":
        assert isinstance(parse("SELECT ?", [value]), Select)
        return
    with pytest.raises(InvalidRequest, match="not a SQL constant"):
        parse("SELECT ?", [value])


def test_parameters_are_counted() -> None:
    with pytest.raises(InvalidRequest, match="expected 2 but found 1"):
        parse("SELECT ?, ?", ["1"])

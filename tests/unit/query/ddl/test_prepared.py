"""PREPARE, EXECUTE and DEALLOCATE PREPARE, over the prepared statements of Athena's operations."""

import pytest

from penstock.errors import AccessDenied
from penstock.query.service import QueryService
from penstock.sql.errors import InvalidRequest
from tests.unit.query.ddl.test_databases_and_tables import Access
from tests.unit.query.lake_of_flights import Ask, Rows


class AthenaAccess(Access):
    """Refuses the operations of Athena in ``refused``, too."""

    check_athena = Access.check


def test_a_prepared_statement_is_executed_as_what_it_is(service: QueryService, done: Ask, rows: Rows) -> None:
    prepared = done("PREPARE twice FROM\nSELECT x * ? AS y FROM (VALUES 1, 2) t(x) WHERE x >= ?")
    assert (prepared.type, prepared.substatement) == ("DDL", "PREPARE")
    assert service.prepared.get("primary", "twice").sql == "SELECT x * ? AS y FROM (VALUES 1, 2) t(x) WHERE x >= ?"
    executed = done("EXECUTE twice USING 2, 2")
    assert (executed.type, executed.substatement, executed.sql) == ("DML", "SELECT", "EXECUTE twice USING 2, 2")
    assert executed.result_uri.endswith(".csv")
    assert rows("EXECUTE twice USING 10, 1") == [["10"], ["20"]]
    assert rows("EXECUTE twice", parameters=("3", "2")) == [["6"]]
    service.prepared.create("primary", "view", "CREATE TABLE x AS SELECT 1 AS a")
    assert done("DEALLOCATE PREPARE twice").substatement == "DEALLOCATE"
    with pytest.raises(InvalidRequest, match="PreparedStatement twice was not found in WorkGroup primary"):
        done("EXECUTE twice USING 1, 2")


def test_results_are_reused_only_for_the_same_prepared_text(done: Ask) -> None:
    done("PREPARE p FROM SELECT 1 AS x")
    done("EXECUTE p", reuse_minutes=60)
    assert done("EXECUTE p", reuse_minutes=60).statistics.reused
    done("DEALLOCATE PREPARE p")
    done("PREPARE p FROM SELECT 2 AS x")
    assert not done("EXECUTE p", reuse_minutes=60).statistics.reused


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("PREPARE p FROM SELECT 1", "ALREADY_EXISTS: PreparedStatement p already exists in WorkGroup primary"),
        ("PREPARE q FROM SELECT FROM", "SYNTAX_ERROR: line 1:8: mismatched input"),
        ("PREPARE q FROM DROP TABLE x", "NOT_SUPPORTED: DROP TABLE cannot be prepared."),
        ("PREPARE q FROM EXECUTE p", "NOT_SUPPORTED: EXECUTE cannot be prepared."),
        ("DEALLOCATE PREPARE q", "NOT_FOUND: PreparedStatement q was not found in WorkGroup primary"),
    ],
)
def test_refusals(service: QueryService, done: Ask, refused: Ask, sql: str, reason: str) -> None:
    done("PREPARE p FROM SELECT 1")
    actual = refused(sql).reason
    assert actual is not None
    assert actual.startswith(reason)
    assert [item.name for item in service.prepared.list("primary", limit=10).items] == ["p"]


def test_parameters_are_counted(done: Ask) -> None:
    done("PREPARE p FROM SELECT ?, ?")
    with pytest.raises(InvalidRequest, match="Incorrect number of parameters: expected 2 but found 1"):
        done("EXECUTE p USING 1")


def test_each_is_authorized_as_athenas_operation(done: Ask, refused: Ask) -> None:
    denied = refused("PREPARE p FROM SELECT 1", catalog_access=AthenaAccess("CreatePreparedStatement"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:CreatePreparedStatement"
    done("PREPARE p FROM SELECT 1")
    with pytest.raises(AccessDenied, match="GetPreparedStatement"):
        done("EXECUTE p", catalog_access=AthenaAccess("GetPreparedStatement"))
    denied = refused("DEALLOCATE PREPARE p", catalog_access=AthenaAccess("DeletePreparedStatement"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:DeletePreparedStatement"


def test_a_text_is_executed_at_once(done: Ask, rows: Rows, ask: Ask) -> None:
    executed = done("EXECUTE IMMEDIATE 'SELECT x || ''!'' AS y FROM (VALUES ?, ?) t(x)' USING 'a', 'b'")
    assert (executed.type, executed.substatement) == ("DML", "SELECT")
    assert executed.result_uri.endswith(".csv")
    assert rows("EXECUTE IMMEDIATE 'SELECT x || ''!'' AS y FROM (VALUES ?, ?) t(x)' USING 'a', 'b'") == [["a!"], ["b!"]]
    assert rows("EXECUTE IMMEDIATE 'SELECT ? + 1'", parameters=("2",)) == [["3"]]
    assert done("EXECUTE IMMEDIATE 'CREATE DATABASE other'").substatement == "CREATE_DATABASE"
    for sql, message in {
        "EXECUTE IMMEDIATE 'SELECT ?'": "Incorrect number of parameters: expected 1 but found 0",
        "EXECUTE IMMEDIATE 'EXECUTE p'": "A prepared statement cannot be EXECUTE",
        "EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''SELECT 1'''": "A prepared statement cannot be EXECUTE",
        "EXECUTE IMMEDIATE 'SELECT FROM'": "mismatched input",
    }.items():
        with pytest.raises(InvalidRequest, match=message):
            ask(sql)


def test_parameters_and_columns_are_described(done: Ask, rows: Rows, refused: Ask) -> None:
    done("CREATE EXTERNAL TABLE t (a int, s string, m double, at timestamp) LOCATION 's3://lake/t/'")
    done(
        "PREPARE p FROM SELECT m AS x, a + 1, ? AS y, * FROM t WHERE s = ? AND a IN (1, ?) AND m BETWEEN ? AND 2 "
        "AND s LIKE ? AND at > ? LIMIT ?"
    )
    kinds = ["unknown", "varchar", "integer", "double", "varchar", "timestamp(3)", "bigint"]
    assert rows("DESCRIBE INPUT p", database="db") == [[str(at), type_] for at, type_ in enumerate(kinds)]
    home = ["awsdatacatalog", "db", "t"]
    assert rows("DESCRIBE OUTPUT p", database="db") == [
        ["x", *home, "double", "8", "true"],
        ["_col1", "", "", "", "integer", "4", "false"],
        ["y", "", "", "", "unknown", "1", "true"],
        ["a", *home, "integer", "4", "false"],
        ["s", *home, "varchar", "0", "false"],
        ["m", *home, "double", "8", "false"],
        ["at", *home, "timestamp(3)", "8", "false"],
    ]
    done("PREPARE w FROM INSERT INTO t SELECT a, ?, m, at FROM t WHERE a < ?")
    assert rows("DESCRIBE INPUT w", database="db") == [["0", "unknown"], ["1", "integer"]]
    assert rows("DESCRIBE OUTPUT w", database="db") == [["rows", "", "", "", "bigint", "8", "false"]]
    done("PREPARE plain FROM SELECT 1")
    assert rows("DESCRIBE INPUT plain", database="db") == []
    assert refused("DESCRIBE OUTPUT nothing").reason == (
        "NOT_FOUND: PreparedStatement nothing was not found in WorkGroup primary. PREPARE makes one."
    )
    denied = refused("DESCRIBE OUTPUT p", catalog_access=AthenaAccess("GetPreparedStatement"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:GetPreparedStatement"

"""Athena's statements besides plain queries, as PyAthena's users send them to a real server."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyathena import connect
from pyathena.error import OperationalError
from pyathena.pandas.cursor import PandasCursor

from penstock.testing.server import RunningServer
from tests.integration.query.conftest import Lakehouse

PARQUET = "STORED AS PARQUET LOCATION 's3://lake/trips/'"


@pytest.fixture
def place(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for name, value in lakehouse.environment().items():
        monkeypatch.setenv(name, value)
    return {"s3_staging_dir": "s3://lake/staging/", "schema_name": "trips", "poll_interval": 0.02}


def test_a_database_from_its_creation_to_its_end(lakehouse: Lakehouse, place: dict[str, Any]) -> None:
    cursor = connect(**place).cursor()

    def rows(sql: str) -> list[Any]:
        return list(cursor.execute(sql).fetchall())

    assert rows("CREATE DATABASE IF NOT EXISTS trips COMMENT 'by taxi'") == []
    rows(f"CREATE EXTERNAL TABLE trips (id bigint, fare decimal(8,2)) PARTITIONED BY (day date) {PARQUET}")
    assert (cursor.statement_type, cursor.substatement_type) == ("DDL", "CREATE_TABLE")
    for day in (1, 2, 3):
        folder = lakehouse.gateway.lake / "lake" / "trips" / f"day=2024-01-0{day}"
        folder.mkdir(parents=True)
        table = pa.table({"id": [day], "fare": pa.array([day], pa.decimal128(8, 2))})
        pq.write_table(table, folder / "a.parquet")
    rows("ALTER TABLE trips ADD PARTITION (day='2024-01-01')")
    rows("MSCK REPAIR TABLE trips")
    assert rows("SHOW PARTITIONS trips") == [("day=2024-01-01",), ("day=2024-01-02",), ("day=2024-01-03",)]
    rows("CREATE OR REPLACE VIEW dear AS SELECT id, fare AS euros, day FROM trips WHERE fare > 1")
    assert [tuple(map(str, row)) for row in rows("SELECT * FROM dear ORDER BY id DESC LIMIT 1")] == [
        ("3", "3.00", "2024-01-03")
    ]
    frame: Any = connect(**place, cursor_class=PandasCursor).cursor().execute("SELECT sum(euros) AS s FROM dear").as_pandas()
    assert [str(item) for item in frame["s"]] == ["5.00"]
    assert [row[0] for row in rows("SHOW TABLES LIKE 'd*'")] == ["dear"]
    assert rows("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'dear' ORDER BY 1") == [
        ("day", "date"),
        ("euros", "decimal(8,2)"),
        ("id", "bigint"),
    ]
    rows("PREPARE at_least FROM SELECT count(*) FROM dear WHERE euros >= ?")
    assert rows("EXECUTE at_least USING DECIMAL '2.50'") == [(1,)]
    assert (cursor.statement_type, cursor.substatement_type) == ("DML", "SELECT")
    assert lakehouse.client("athena").get_prepared_statement(StatementName="at_least", WorkGroup="primary")[
        "PreparedStatement"
    ]["QueryStatement"] == "SELECT count(*) FROM dear WHERE euros >= ?"  # fmt: skip
    rows("DEALLOCATE PREPARE at_least")
    plan = "\n".join(str(row[0]) for row in rows("EXPLAIN SELECT * FROM dear WHERE day = DATE '2024-01-02'"))
    assert "trips.dear: view (trips.trips: DuckDB reads 1 Parquet file" in plan
    with pytest.raises(OperationalError, match="View already exists"):
        rows("CREATE VIEW dear AS SELECT 1 AS x")
    with pytest.raises(OperationalError, match="Database trips is not empty"):
        rows("DROP DATABASE trips")
    rows("DROP DATABASE trips CASCADE")
    assert ("trips",) not in rows("SHOW DATABASES")
    assert len(list((lakehouse.gateway.lake / "lake" / "trips").rglob("*.parquet"))) == 3


def test_statements_need_the_rights_of_the_operations_that_they_are(lakehouse: Lakehouse, place: dict[str, Any]) -> None:
    server: RunningServer = lakehouse.server
    iam = server.client("iam")
    iam.create_user(UserName="dora")
    allowed = ["athena:StartQueryExecution", "athena:GetQueryExecution", "athena:GetQueryResults", "glue:Get*", "s3:*"]
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": allowed, "Resource": "*"}]}
    iam.put_user_policy(UserName="dora", PolicyName="reads", PolicyDocument=json.dumps(document))
    key = iam.create_access_key(UserName="dora")["AccessKey"]
    own = place | {"schema_name": "db"}
    cursor = connect(**own, aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"]).cursor()
    assert cursor.execute("SELECT count(*) FROM carriers").fetchall() == [(3,)]
    for sql, action in (
        ("CREATE DATABASE x", "glue:CreateDatabase"),
        ("CREATE VIEW v AS SELECT flights FROM carriers", "glue:CreateTable"),
        ("ALTER TABLE carriers SET TBLPROPERTIES ('a'='b')", "glue:UpdateTable"),
        ("DROP TABLE carriers", "glue:DeleteTable"),
        ("DROP DATABASE db CASCADE", "glue:DeleteDatabase"),
        ("PREPARE p FROM SELECT 1", "athena:CreatePreparedStatement"),
        ("DEALLOCATE PREPARE p", "athena:DeletePreparedStatement"),
    ):
        with pytest.raises(OperationalError, match=f"PERMISSION_DENIED: .*{action}"):
            cursor.execute(sql)
    assert connect(**own).cursor().execute("SELECT count(*) FROM carriers").fetchall() == [(3,)]

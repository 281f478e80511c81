"""boto3's Athena client against the real server."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote_plus
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError
from sqlalchemy import create_engine, inspect

from penstock.testing.server import RunningServer, start_server

STORAGE = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}

ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) AS a(x) CROSS JOIN UNNEST(sequence(1, 10000)) AS c(z) "
    "CROSS JOIN UNNEST(sequence(1, 10000)) AS b(y) WHERE x * y * z = -1"
)


@pytest.fixture(scope="module")
def flights(penstock_server: RunningServer) -> Iterator[str]:
    """Yield the name of a database with ``flights``, which is partitioned by month and has files of two schemas."""
    database = f"db_{uuid4().hex[:8]}"
    glue = penstock_server.client("glue")
    glue.create_database(DatabaseInput={"Name": database})
    columns = [{"Name": "carrier", "Type": "string"}, {"Name": "delay", "Type": "double"}, {"Name": "seats", "Type": "int"}]
    table = {
        "Name": "flights",
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {"classification": "parquet"},
        "PartitionKeys": [{"Name": "month", "Type": "int"}],
        "StorageDescriptor": {**STORAGE, "Columns": columns, "Location": f"s3://lake/{database}/flights/"},
    }
    glue.create_table(DatabaseName=database, TableInput=table)
    for month in (1, 2, 3):
        folder = penstock_server.lake / "lake" / database / "flights" / f"month={month}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"carrier": ["UA", "AA"], "delay": [1.5, None]}), folder / "old.parquet")
        pq.write_table(
            pa.table({"carrier": ["DL"], "delay": [float(month)], "seats": pa.array([180], pa.int32())}),
            folder / "new.parquet",
        )
        place = {**STORAGE, "Columns": columns, "Location": f"s3://lake/{database}/flights/month={month}/"}
        glue.create_partition(
            DatabaseName=database, TableName="flights", PartitionInput={"Values": [str(month)], "StorageDescriptor": place}
        )
    yield database
    glue.delete_database(Name=database)


def run(athena: Any, sql: str, **request: Any) -> dict[str, Any]:
    """Run the statement and return its description in its final state."""
    return end_of(athena, athena.start_query_execution(QueryString=sql, **request)["QueryExecutionId"])


def end_of(athena: Any, query_id: str) -> dict[str, Any]:
    """Return the description of a statement in its final state."""
    deadline = time.monotonic() + 60
    while True:
        results: dict[str, Any] = athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]
        if results["Status"]["State"] not in {"QUEUED", "RUNNING"}:
            return results
        assert time.monotonic() < deadline
        time.sleep(0.02)


def values(answer: dict[str, Any]) -> list[list[str | None]]:
    """Return the rows of a GetQueryResults response."""
    return [[datum.get("VarCharValue") for datum in row["Data"]] for row in answer["ResultSet"]["Rows"]]


def test_a_select_returns_header_and_types_and_reads_only_its_partitions(
    penstock_server: RunningServer, flights: str
) -> None:
    athena = penstock_server.client("athena")
    results = run(
        athena,
        "SELECT carrier, delay, seats, month FROM flights WHERE month = 2 ORDER BY carrier",
        QueryExecutionContext={"Database": flights, "Catalog": "AwsDataCatalog"},
    )
    assert results["Status"]["State"] == "SUCCEEDED", results["Status"]
    assert results["StatementType"] == "DML"
    files = list((penstock_server.lake / "lake" / flights / "flights" / "month=2").iterdir())
    assert results["Statistics"]["DataScannedInBytes"] == sum(file.stat().st_size for file in files)
    answer = athena.get_query_results(QueryExecutionId=results["QueryExecutionId"])
    assert values(answer) == [
        ["carrier", "delay", "seats", "month"],
        ["AA", None, None, "2"],
        ["DL", "2.0", "180", "2"],
        ["UA", "1.5", None, "2"],
    ]
    kinds = [(item["Name"], item["Type"]) for item in answer["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]]
    assert kinds == [("carrier", "varchar"), ("delay", "double"), ("seats", "integer"), ("month", "integer")]
    where = results["ResultConfiguration"]["OutputLocation"]
    text = (penstock_server.lake / where.removeprefix("s3://")).read_text()
    assert text == '"carrier","delay","seats","month"\n"AA",,,"2"\n"DL","2.0","180","2"\n"UA","1.5",,"2"\n'


def test_an_earlier_result_is_reused_if_the_request_allows_it(penstock_server: RunningServer, flights: str) -> None:
    athena = penstock_server.client("athena")
    context = {"QueryExecutionContext": {"Database": flights}}
    reuse = {"ResultReuseByAgeConfiguration": {"Enabled": True, "MaxAgeInMinutes": 5}}
    first = run(athena, "SELECT max(month) FROM flights", **context)
    again = run(athena, "SELECT max(month) FROM flights", ResultReuseConfiguration=reuse, **context)
    reused = [entry["Statistics"]["ResultReuseInformation"]["ReusedPreviousResult"] for entry in (first, again)]
    assert reused == [False, True]
    assert again["ResultReuseConfiguration"] == reuse
    assert again["Statistics"]["DataScannedInBytes"] == 0
    assert values(athena.get_query_results(QueryExecutionId=again["QueryExecutionId"])) == [["_col0"], ["3"]]


def test_pages_follow_one_another_and_the_header_comes_once(penstock_server: RunningServer) -> None:
    athena = penstock_server.client("athena")
    results = run(athena, "SELECT x FROM UNNEST(sequence(1, 2500)) AS t(x)")
    pages = list(athena.get_paginator("get_query_results").paginate(QueryExecutionId=results["QueryExecutionId"]))
    rows = [row for page in pages for row in values(page)]
    assert [len(page["ResultSet"]["Rows"]) for page in pages] == [1000, 1000, 501]
    assert rows == [["x"], *([str(number)] for number in range(1, 2501))]


def test_refusals_and_failures_have_athenas_codes(penstock_server: RunningServer, flights: str) -> None:
    athena = penstock_server.client("athena")
    with pytest.raises(ClientError) as refused:
        athena.start_query_execution(QueryString="SELECT a FROM t WHERE")
    assert refused.value.response["Error"]["Code"] == "InvalidRequestException"
    assert dict(refused.value.response)["AthenaErrorCode"] == "MALFORMED_QUERY"
    results = run(athena, "SELECT 1 FROM nothing", QueryExecutionContext={"Database": flights})
    assert results["Status"]["State"] == "FAILED"
    what = f"TABLE_NOT_FOUND: line 1:15: Table 'awsdatacatalog.{flights}.nothing' does not exist"
    assert results["Status"]["StateChangeReason"] == what
    assert results["Status"]["AthenaError"] == {
        "ErrorCategory": 2,
        "ErrorType": 1003,
        "Retryable": False,
        "ErrorMessage": what,
    }
    with pytest.raises(ClientError, match="Final query state: FAILED"):
        athena.get_query_results(QueryExecutionId=results["QueryExecutionId"])


def test_show_statements_list_the_catalog(penstock_server: RunningServer, flights: str) -> None:
    athena = penstock_server.client("athena")
    context = {"QueryExecutionContext": {"Database": flights}}
    shown = {
        sql: values(athena.get_query_results(QueryExecutionId=run(athena, sql, **context)["QueryExecutionId"]))
        for sql in ("SHOW TABLES", "SHOW PARTITIONS flights")
    }
    assert shown == {"SHOW TABLES": [["flights"]], "SHOW PARTITIONS flights": [["month=1"], ["month=2"], ["month=3"]]}
    metadata = athena.get_table_metadata(CatalogName="AwsDataCatalog", DatabaseName=flights, TableName="flights")
    assert [partition_key["Name"] for partition_key in metadata["TableMetadata"]["PartitionKeys"]] == ["month"]
    names = [database["Name"] for database in athena.list_databases(CatalogName="AwsDataCatalog")["DatabaseList"]]
    assert flights in names
    group = athena.get_work_group(WorkGroup="primary")["WorkGroup"]
    assert group["State"] == "ENABLED"
    assert group["Configuration"]["ManagedQueryResultsConfiguration"] == {"Enabled": False}
    assert group["Configuration"]["EnableMinimumEncryptionConfiguration"] is False
    assert group["Configuration"]["IdentityCenterConfiguration"] == {"EnableIdentityCenter": False}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("fli*", True),
        ("^fl.ghts$", True),
        ("(sales|flights|x)", True),
        ("fl[a-j]+ts", True),
        ("FLIGHTS", True),
        ("light", False),
        ("(f*)*" + "(l*)*" * 20 + "x", False),
    ],
)
def test_tables_are_listed_by_regular_expression(
    penstock_server: RunningServer, flights: str, expression: str, found: bool
) -> None:
    athena = penstock_server.client("athena")
    answer = athena.list_table_metadata(CatalogName="AwsDataCatalog", DatabaseName=flights, Expression=expression)
    assert [table_metadata["Name"] for table_metadata in answer["TableMetadataList"]] == (["flights"] if found else [])


def test_an_invalid_expression_is_refused(penstock_server: RunningServer, flights: str) -> None:
    athena = penstock_server.client("athena")
    with pytest.raises(ClientError, match="is not a regular expression") as refused:
        athena.list_table_metadata(CatalogName="AwsDataCatalog", DatabaseName=flights, Expression="(")
    assert refused.value.response["Error"]["Code"] == "InvalidRequestException"


def test_pyathena_finds_whether_a_table_exists(penstock_server: RunningServer, flights: str) -> None:
    server = penstock_server
    url = f"awsathena+rest://{server.access_key_id}:{quote_plus(server.secret_access_key)}@:443/{flights}"
    where = {"s3_staging_dir": "s3://lake/athena-results/", "region_name": server.region}
    engine = create_engine(url, connect_args={"endpoint_url": server.endpoint_url, **where})
    tables = inspect(engine)
    assert tables.has_table("flights")
    assert not tables.has_table("nothing")
    assert not tables.has_table("flights", schema="no_such_database")
    engine.dispose()


def test_a_long_statement_is_stopped(penstock_server: RunningServer) -> None:
    athena = penstock_server.client("athena")
    query_id = athena.start_query_execution(QueryString=ENDLESS)["QueryExecutionId"]
    deadline = time.monotonic() + 30
    while athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]["Status"]["State"] == "QUEUED":
        assert time.monotonic() < deadline
    athena.stop_query_execution(QueryExecutionId=query_id)
    while (state := athena.get_query_execution(QueryExecutionId=query_id)["QueryExecution"]["Status"]["State"]) == "RUNNING":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert state == "CANCELLED"


def test_statements_of_a_killed_server_are_failed_and_earlier_results_remain(tmp_path: Any) -> None:
    server = start_server(tmp_path / "home", arguments=["--workers", "2"])
    try:
        athena = server.client("athena")
        done = run(athena, "SELECT 1 AS one")["QueryExecutionId"]
        lost = athena.start_query_execution(QueryString=ENDLESS)["QueryExecutionId"]
    finally:
        import psutil

        children = psutil.Process(server.process.pid).children(recursive=True)
        server.process.kill()
        for child in children:
            child.kill()
        psutil.wait_procs(children, timeout=120)
        server.process.wait()
    again = start_server(tmp_path / "home", access_key_id=server.access_key_id, secret_access_key=server.secret_access_key)
    try:
        athena = again.client("athena")
        status = end_of(athena, lost)["Status"]
        assert status["State"] == "FAILED"
        assert "SERVER_RESTARTED" in status["StateChangeReason"]
        assert status["AthenaError"]["Retryable"]
        assert values(athena.get_query_results(QueryExecutionId=done)) == [["one"], ["1"]]
    finally:
        again.stop()

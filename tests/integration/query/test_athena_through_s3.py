"""Results through the S3 endpoint: written by PUT, read back by boto3 and pyathena."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyathena import connect
from pyathena.error import OperationalError

from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.testing.server import RunningServer, start_server

KEY, SECRET = "AKIATESTTESTTESTTEST", "gateway-and-server-tests"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    home = tmp_path_factory.mktemp("athena-s3")
    store = ObjectStore(
        lake=home / "lake", folder=home / "run", port=free_ports(1)[0], access_key_id=KEY, secret_access_key=SECRET
    )
    with store:
        yield store


@pytest.fixture(scope="module")
def server(gateway: ObjectStore) -> Iterator[RunningServer]:
    running = start_server(
        gateway.lake.parent,
        arguments=["--s3-endpoint-url", gateway.endpoint_url],
        access_key_id=KEY,
        secret_access_key=SECRET,
    )
    glue = running.client("glue")
    glue.create_database(DatabaseInput={"Name": "db"})
    storage = {
        "Columns": [{"Name": "carrier", "Type": "string"}, {"Name": "flights", "Type": "bigint"}],
        "Location": "s3://lake/carriers/",
        "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
    }
    glue.create_table(
        DatabaseName="db", TableInput={"Name": "carriers", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage}
    )
    folder: Path = gateway.lake / "lake" / "carriers"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"carrier": ["UA", "AA", None], "flights": [58665, 32729, 1]}), folder / "a.parquet")
    yield running
    running.stop()


@pytest.fixture
def cursor(server: RunningServer) -> Iterator[Any]:
    connection = connect(
        s3_staging_dir="s3://lake/staging/",
        endpoint_url=server.endpoint_url,
        region_name=server.region,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        schema_name="db",
        poll_interval=0.05,
    )
    with connection, connection.cursor() as made:
        yield made


def test_the_result_is_an_object_with_an_etag(gateway: ObjectStore, cursor: Any) -> None:
    cursor.execute("SELECT carrier, flights FROM carriers WHERE carrier IS NOT NULL ORDER BY flights")
    key = cursor.output_location.removeprefix("s3://lake/")
    client = gateway.client()
    found = client.get_object(Bucket="lake", Key=key)
    assert found["ETag"]
    assert found["Body"].read() == b'"carrier","flights"\n"AA","32729"\n"UA","58665"\n'
    assert client.head_object(Bucket="lake", Key=f"{key}.metadata")["ContentLength"] > 0
    client.close()


def test_pyathena_reads_values_of_their_types(cursor: Any) -> None:
    cursor.execute(
        "SELECT carrier, flights, CAST(1.5 AS decimal(5,2)), DATE '2013-01-02', true, NULL FROM carriers ORDER BY 2"
    )
    rows = cursor.fetchall()
    assert [row[:2] for row in rows] == [(None, 1), ("AA", 32729), ("UA", 58665)]
    assert [str(value) for value in rows[0][2:]] == ["1.50", "2013-01-02", "True", "None"]
    assert cursor.data_scanned_in_bytes > 0


def test_pyathena_pages_through_a_large_result(cursor: Any) -> None:
    cursor.execute("SELECT x FROM UNNEST(sequence(1, 3500)) AS t(x)")
    assert [row[0] for row in cursor.fetchall()] == list(range(1, 3501))


def test_pyathena_passes_parameters_shows_and_errors(cursor: Any) -> None:
    cursor.execute("SELECT flights FROM carriers WHERE carrier = ?", ["'UA'"], paramstyle="qmark")
    assert cursor.fetchall() == [(58665,)]
    assert cursor.execute("SHOW TABLES").fetchall() == [("carriers",)]
    with pytest.raises(OperationalError, match="COLUMN_NOT_FOUND: line 1:8"):
        cursor.execute("SELECT nothing FROM carriers")


def test_an_unknown_bucket_is_refused_at_once(server: RunningServer) -> None:
    athena = server.client("athena")
    with pytest.raises(athena.exceptions.InvalidRequestException, match="no-such-bucket"):
        athena.start_query_execution(
            QueryString="SELECT 1", ResultConfiguration={"OutputLocation": "s3://no-such-bucket/x/"}
        )

"""Results through the S3 endpoint: written by PUT, read back by boto3 and pyathena."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyathena import connect
from pyathena.error import OperationalError

from penstock.local.objectstore import ObjectStore
from penstock.testing.server import RunningServer
from tests.integration.query.conftest import KEY, SECRET, Lakehouse


@pytest.fixture
def server(lakehouse: Lakehouse) -> RunningServer:
    return lakehouse.server


@pytest.fixture
def gateway(lakehouse: Lakehouse) -> ObjectStore:
    return lakehouse.gateway


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
    object_ = client.get_object(Bucket="lake", Key=key)
    assert object_["ETag"]
    assert object_["Body"].read() == b'"carrier","flights"\n"AA","32729"\n"UA","58665"\n'
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

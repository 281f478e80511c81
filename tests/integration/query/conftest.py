"""A server whose results and tables are reached through the S3 endpoint, with one table to read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.testing.server import RunningServer, start_server

KEY, SECRET = "AKIATESTTESTTESTTEST", "gateway-and-server-tests"


@dataclass(frozen=True)
class Lakehouse:
    """The server and the S3 endpoint, with the table ``db.carriers``."""

    server: RunningServer
    gateway: ObjectStore

    def environment(self) -> dict[str, str]:
        """Return the variables that point all of AWS's clients in a child process at both."""
        return self.server.environment() | {"AWS_ENDPOINT_URL_S3": self.gateway.endpoint_url}

    def client(self, service: str) -> Any:
        """Return boto3's client of ``service``, also of s3."""
        return self.gateway.client() if service == "s3" else self.server.client(service)


@pytest.fixture(scope="session")
def lakehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lakehouse]:
    """Yield a server and an S3 endpoint that all tests of a worker share."""
    home = tmp_path_factory.mktemp("athena-s3")
    store = ObjectStore(
        lake=home / "lake", folder=home / "run", port=free_ports(1)[0], access_key_id=KEY, secret_access_key=SECRET
    )
    with store:
        arguments = ["--s3-endpoint-url", store.endpoint_url]
        server = start_server(home, arguments=arguments, access_key_id=KEY, secret_access_key=SECRET)
        try:
            _add_carriers(server, store.lake / "lake" / "carriers")
            yield Lakehouse(server, store)
        finally:
            server.stop()


def _add_carriers(server: RunningServer, folder: Path) -> None:
    glue = server.client("glue")
    glue.create_database(DatabaseInput={"Name": "db"})
    storage = {
        "Columns": [
            {"Name": "carrier", "Type": "string", "Comment": "two letters"},
            {"Name": "flights", "Type": "bigint"},
        ],
        "Location": "s3://lake/carriers/",
        "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
    }
    glue.create_table(
        DatabaseName="db",
        TableInput={
            "Name": "carriers",
            "Description": "of 2013",
            "TableType": "EXTERNAL_TABLE",
            "StorageDescriptor": storage,
        },
    )
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"carrier": ["UA", "AA", None], "flights": [58665, 32729, 1]}), folder / "a.parquet")

"""A server with tables that hold a secret, and users who may not read it, or may."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from penstock.retries import wait_until
from penstock.statements.work_groups import SPARK_SQL
from penstock.testing.server import RunningServer, running_server
from tests.security.files.attacks import COLUMNS, SECRET

ADMIN_ONLY: dict[str, Any] = {"CreateDatabaseDefaultPermissions": [], "CreateTableDefaultPermissions": []}
_PARQUET = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}


@dataclass
class Person:
    """A user with a database and a folder of its own; implements :class:`tests.security.files.attacks.Attacker`."""

    world: "World"
    name: str
    keys: dict[str, str]

    @property
    def database(self) -> str:
        return f"of_{self.name}"

    @property
    def lake(self) -> Path:
        return self.world.server.lake

    @property
    def ice(self) -> str:
        return self.world.ice

    def client(self, service: str) -> Any:
        return self.world.server.client(service, **self.keys)

    def glue(self) -> Any:
        return self.client("glue")

    def write(self, key: str, data: bytes) -> str:
        path = self.lake / "lk" / self.name / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return f"s3://lk/{self.name}/{key}"

    def start(self, sql: str, group: str = "primary") -> str:
        """Start a statement; return its id, or why it was refused."""
        place = {"OutputLocation": f"s3://lk/{self.name}/results/"}
        try:
            started = self.client("athena").start_query_execution(
                QueryString=sql, ResultConfiguration=place, WorkGroup=group
            )
        except ClientError as error:
            return f"refused: {error}"
        return str(started["QueryExecutionId"])

    def end(self, started: str) -> tuple[str, str]:
        """Return a statement's last state, and its rows or why it failed, as text."""
        if started.startswith("refused: "):
            return "FAILED", started
        athena = self.client("athena")

        def done() -> Any:
            status = athena.get_query_execution(QueryExecutionId=started)["QueryExecution"]["Status"]
            return status if status["State"] not in {"QUEUED", "RUNNING"} else None

        status = wait_until(done, seconds=120)
        assert status is not None, "it has not ended"
        if status["State"] != "SUCCEEDED":
            return status["State"], str(status)
        result = athena.get_query_results(QueryExecutionId=started)["ResultSet"]["Rows"]
        return "SUCCEEDED", str([[item.get("VarCharValue") for item in row["Data"]] for row in result])

    def sql(self, text: str) -> tuple[str, str]:
        return self.end(self.start(text))


@dataclass
class World:
    """The server, and its people."""

    server: RunningServer
    ice: str = ""
    people: dict[str, Person] = field(default_factory=dict)

    def person(self, name: str, statements: Sequence[dict[str, Any]] = ()) -> Person:
        """Make a user who may do all in Glue and Athena, in S3 what ``statements`` allow, and read its own folder."""
        if name in self.people:
            return self.people[name]
        iam, glue = self.server.client("iam"), self.server.client("glue")
        iam.create_user(UserName=name)
        own = [
            {"Effect": "Allow", "Action": ["glue:*", "athena:*", "iam:PassRole"], "Resource": "*"},
            {"Effect": "Allow", "Action": "s3:*", "Resource": [f"arn:aws:s3:::lk/{name}/*"]},
            {
                "Effect": "Allow",
                "Action": "s3:ListBucket",
                "Resource": "arn:aws:s3:::lk",
                "Condition": {"StringLike": {"s3:prefix": [f"{name}/*"]}},
            },
        ]
        document = {"Version": "2012-10-17", "Statement": [*own, *statements]}
        iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=json.dumps(document))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        keys = {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}
        made = self.people[name] = Person(self, name, keys)
        glue.create_database(DatabaseInput={"Name": made.database})
        return made


def _fill(server: RunningServer) -> str:
    """Write the secret as plain files, a list, a Delta and an Iceberg table; return the last one's metadata."""
    rows = pa.table({"id": [1], "card": [SECRET]})
    for folder in ("f", "only/f", "delta"):
        home = server.lake / "lk" / "secret" / folder
        home.mkdir(parents=True)
        pq.write_table(rows, home / "rows.parquet")
    (server.lake / "lk" / "secret" / "text").mkdir()
    (server.lake / "lk" / "secret" / "text" / "cards.txt").write_text(f"{SECRET}\n")
    shared = {"nullable": True, "metadata": {}}
    fields = [{"name": "id", "type": "long", **shared}, {"name": "card", "type": "string", **shared}]
    schema = json.dumps({"type": "struct", "fields": fields})
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "x",
                "format": {"provider": "parquet"},
                "schemaString": schema,
            }
        },
        {"add": {"path": "rows.parquet", "size": 1, "partitionValues": {}}},
    ]
    log = server.lake / "lk" / "secret" / "delta" / "_delta_log"
    log.mkdir()
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    glue = server.client("glue")
    glue.create_database(DatabaseInput={"Name": "shop"})
    storage = {"Columns": COLUMNS, **_PARQUET, "Location": "s3://lk/secret/f/"}
    glue.create_table(
        DatabaseName="shop", TableInput={"Name": "cards", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage}
    )
    root = Person(World(server), "root", {})
    for sql in (
        "CREATE TABLE shop.ice (id bigint, card string) LOCATION 's3://lk/secret/ice' "
        "TBLPROPERTIES ('table_type'='ICEBERG')",
        f"INSERT INTO shop.ice VALUES (1, '{SECRET}')",
    ):
        assert root.sql(sql)[0] == "SUCCEEDED"
    return str(glue.get_table(DatabaseName="shop", Name="ice")["Table"]["Parameters"]["metadata_location"])


def _govern(world: World) -> None:
    """Register a location with Lake Formation whose table the user ``clerk`` may read one row of, and nothing by S3."""
    server = world.server
    home = server.lake / "lf" / "cards"
    home.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2], "card": [SECRET, "harmless"]}), home / "rows.parquet")
    glue, lake = server.client("glue"), server.client("lakeformation")
    glue.create_database(DatabaseInput={"Name": "bank", "LocationUri": "s3://lf/"})
    storage = {"Columns": COLUMNS, **_PARQUET, "Location": "s3://lf/cards/"}
    glue.create_table(
        DatabaseName="bank", TableInput={"Name": "cards", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage}
    )
    lake.register_resource(ResourceArn="arn:aws:s3:::lf/cards", UseServiceLinkedRole=True)
    named = {"DatabaseName": "bank", "Name": "cards"}
    lake.revoke_permissions(
        Principal={"DataLakePrincipalIdentifier": "IAM_ALLOWED_PRINCIPALS"}, Resource={"Table": named}, Permissions=["ALL"]
    )
    rows = {"TableCatalogId": server.account, "DatabaseName": "bank", "TableName": "cards", "Name": "harmless"}
    lake.create_data_cells_filter(TableData={**rows, "RowFilter": {"FilterExpression": "id = 2"}, "ColumnWildcard": {}})
    world.person("clerk")
    arn = f"arn:aws:iam::{server.account}:user/clerk"
    lake.grant_permissions(
        Principal={"DataLakePrincipalIdentifier": arn}, Resource={"DataCellsFilter": rows}, Permissions=["SELECT"]
    )


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    # Spark starts with the first query that it computes, which is none here: attacks end before.
    quick = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1"  # it lives briefly
    with running_server(arguments=["--spark-master", "local[1]", "--spark-conf", quick]) as server:
        made = World(server, _fill(server))
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": ["arn:aws:s3:::lk", "arn:aws:s3:::lk/*"]}
        made.person("reader", [allowed])
        # Without any right in S3 to the secret.
        made.person("without")
        denied = {"Effect": "Deny", "Action": "s3:*", "Resource": "arn:aws:s3:::lk/secret/*"}
        table = {"Effect": "Deny", "Action": "glue:*", "Resource": f"arn:aws:glue:*:{server.account}:table/shop/*"}
        made.person("denied", [allowed, denied, table])
        engine = {"SelectedEngineVersion": SPARK_SQL}
        server.client("athena").create_work_group(
            Name="spark", Configuration={"EngineVersion": engine, "EnforceWorkGroupConfiguration": False}
        )
        _govern(made)
        yield made

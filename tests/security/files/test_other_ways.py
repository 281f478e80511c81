"""The same files by Lake Formation's locations, by Iceberg's endpoint, by crawlers, by writing statements and by results."""

import json
import uuid
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from penstock.retries import wait_until
from tests.security.files.attacks import COLUMNS, SECRET, own_metadata, plain
from tests.security.files.conftest import Person, World

_PARQUET = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}


def test_grants_decide_about_a_table_at_a_registered_location(world: World) -> None:
    clerk, reader = world.people["clerk"], world.people["reader"]
    assert clerk.sql("SELECT * FROM bank.cards") == ("SUCCEEDED", "[['id', 'card'], ['2', 'harmless']]")
    state, text = reader.sql("SELECT * FROM bank.cards")
    assert (state, "Insufficient Lake Formation" in text, SECRET in text) == ("FAILED", True, False)


@pytest.mark.parametrize(
    "location",
    ["s3://lf/cards/", "s3://lf/./cards", "s3://lf/cards/./", "s3a://lf/cards//", "s3://lf/cards/rows.parquet", "s3://lf"],
)
def test_no_other_table_shows_what_is_at_a_registered_location(world: World, location: str) -> None:
    clerk = world.people["clerk"]
    try:
        state, text = clerk.sql(plain(location)(clerk))
    except ClientError as error:
        state, text = "FAILED", str(error)
    assert (state, SECRET in text) == ("FAILED", False), text
    assert "DATA_LOCATION_ACCESS" in text or "not authorized to perform" in text


def test_nothing_points_to_a_registered_location_without_its_permission(world: World) -> None:
    clerk = world.people["clerk"]
    for shape in (
        {
            "StorageDescriptor": {
                "Columns": COLUMNS,
                **_PARQUET,
                "Location": "s3://lk/clerk/x",
                "AdditionalLocations": ["s3://lf/cards"],
            }
        },
        {"Parameters": {"table_type": "ICEBERG", "metadata_location": "s3://lf/cards/metadata/1.metadata.json"}},
        {"Parameters": {"projection.enabled": "true", "storage.location.template": "s3://lf/cards/${id}/"}},
        {
            "StorageDescriptor": {
                "Location": "s3://lk/clerk/x",
                "SerdeInfo": {"Parameters": {"path": "s3://lf/./cards"}},
            }
        },
    ):
        with pytest.raises(ClientError, match="DATA_LOCATION_ACCESS"):
            clerk.glue().create_table(DatabaseName="of_clerk", TableInput={"Name": f"t{uuid.uuid4().hex}", **shape})
    # Nor does a database, or a table, above the registered location give the right to it.
    glue, above, below = (
        clerk.glue(),
        f"above{uuid.uuid4().hex[:8]}",
        {"Columns": COLUMNS, **_PARQUET, "Location": "s3://lf/cards"},
    )
    glue.create_database(DatabaseInput={"Name": above, "LocationUri": "s3://lf/"})
    glue.create_table(
        DatabaseName=above,
        TableInput={
            "Name": "wide",
            "PartitionKeys": [{"Name": "p", "Type": "string"}],
            "StorageDescriptor": {**below, "Location": "s3://lf/"},
        },
    )
    for call, arguments in (
        (glue.create_table, {"DatabaseName": above, "TableInput": {"Name": "t", "StorageDescriptor": below}}),
        (glue.update_table, {"DatabaseName": above, "TableInput": {"Name": "wide", "StorageDescriptor": below}}),
        (glue.update_database, {"Name": above, "DatabaseInput": {"Name": above, "LocationUri": "s3://lf/cards/"}}),
        (
            glue.create_partition,
            {"DatabaseName": above, "TableName": "wide", "PartitionInput": {"Values": ["x"], "StorageDescriptor": below}},
        ),
    ):
        with pytest.raises(ClientError, match="DATA_LOCATION_ACCESS"):
            call(**arguments)
    # Below its database's location a table needs nothing more, but where another one's files are.
    with pytest.raises(ClientError, match="DATA_LOCATION_ACCESS"):
        clerk.glue().create_table(
            DatabaseName="bank", TableInput={"Name": "twin", "StorageDescriptor": {"Location": "s3://lf/cards/"}}
        )


def test_statements_show_the_columns_that_get_table_shows(world: World) -> None:
    lake, viewer = world.server.client("lakeformation"), world.person("viewer")
    columns = {"TableWithColumns": {"DatabaseName": "bank", "Name": "cards", "ColumnNames": ["id"]}}
    principal = {"DataLakePrincipalIdentifier": f"arn:aws:iam::{world.server.account}:user/viewer"}
    lake.grant_permissions(Principal=principal, Resource=columns, Permissions=["SELECT"])
    shown = viewer.glue().get_table(DatabaseName="bank", Name="cards")["Table"]["StorageDescriptor"]["Columns"]
    assert [item["Name"] for item in shown] == ["id"]
    for sql in (
        "DESCRIBE bank.cards",
        "DESCRIBE FORMATTED bank.cards",
        "DESCRIBE EXTENDED bank.cards",
        "SHOW COLUMNS IN bank.cards",
        "SHOW CREATE TABLE bank.cards",
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'bank'",
        "SELECT * FROM bank.cards",
    ):
        state, text = viewer.sql(sql)
        assert state == "SUCCEEDED", (sql, text)
        assert "id" in text, sql
        assert "'card" not in text.replace("'cards", ""), (sql, text)
        assert "`card`" not in text, sql
        assert "name:card" not in text, sql
    assert viewer.sql("DESCRIBE bank.cards card")[0] == "FAILED"
    assert "card" in world.people["clerk"].sql("SHOW COLUMNS IN bank.cards")[1], "whose filter has all columns"


def _rest(by: Person, method: str, path: str, body: Any = None) -> requests.Response:
    form = {
        "grant_type": "client_credentials",
        "client_id": by.keys["access_key_id"],
        "client_secret": by.keys["secret_access_key"],
    }
    base = f"{by.world.server.endpoint_url}/iceberg"
    token = requests.post(f"{base}/v1/oauth/tokens", data=form, timeout=10).json()["access_token"]
    url = f"{base}/v1/catalogs/{by.world.server.account}/namespaces/{by.database}{path}"
    return requests.request(method, url, json=body, headers={"Authorization": f"Bearer {token}"}, timeout=120)


SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "id", "type": "long", "required": False}]}
_VIEW = {
    "version-id": 1,
    "timestamp-ms": 1,
    "schema-id": 0,
    "summary": {},
    "default-namespace": ["x"],
    "representations": [{"type": "sql", "sql": "SELECT 1 AS id", "dialect": "trino"}],
}


@pytest.mark.parametrize("who", ["without", "denied"])
def test_icebergs_endpoint_writes_and_reads_metadata_by_the_rights_in_s3(world: World, who: str) -> None:
    by = world.people[who]
    before = set((world.server.lake / "lk" / "secret").rglob("*"))
    made = _rest(by, "POST", "/tables", {"name": "mine", "schema": SCHEMA, "location": f"s3://lk/{who}/mine"})
    assert made.status_code == 200, made.text
    foreign = "s3://lk/secret/planted"
    view = {"name": "v", "schema": SCHEMA, "view-version": _VIEW, "location": foreign}
    answers = {
        "create": _rest(by, "POST", "/tables", {"name": "t1", "schema": SCHEMA, "location": foreign}),
        "create with a dot": _rest(
            by, "POST", "/tables", {"name": "t2", "schema": SCHEMA, "location": "s3://lk/./secret/x"}
        ),
        "metadata path": _rest(
            by,
            "POST",
            "/tables",
            {
                "name": "t3",
                "schema": SCHEMA,
                "location": f"s3://lk/{who}/t3",
                "properties": {"write.metadata.path": foreign},
            },
        ),
        "register": _rest(by, "POST", "/register", {"name": "t4", "metadata-location": world.ice}),
        "set-location": _rest(
            by, "POST", "/tables/mine", {"requirements": [], "updates": [{"action": "set-location", "location": foreign}]}
        ),
        "view": _rest(by, "POST", "/views", view),
        "register a view": _rest(by, "POST", "/register-view", {"name": "v2", "metadata-location": world.ice}),
    }
    by.glue().create_table(
        DatabaseName=by.database,
        TableInput={"Name": "pointed", "Parameters": {"table_type": "ICEBERG", "metadata_location": world.ice}},
    )
    answers["load"] = _rest(by, "GET", "/tables/pointed")
    assert {name: answer.status_code for name, answer in answers.items() if name != "register a view"} == {
        name: 403 for name in answers if name != "register a view"
    }
    assert answers["register a view"].status_code in {403, 404}
    assert SECRET not in str([answer.text for answer in answers.values()])
    assert set((world.server.lake / "lk" / "secret").rglob("*")) == before
    registered = _rest(by, "POST", "/register", {"name": "own", "metadata-location": own_metadata(by)})
    assert registered.status_code == 200, "the caller's own file, whose manifests are read by who reads them"
    assert by.sql(f"SELECT * FROM {by.database}.own")[0] == "FAILED"


@pytest.mark.parametrize("who", ["without", "denied"])
def test_glue_writes_metadata_of_new_iceberg_tables_by_the_rights_in_s3(world: World, who: str) -> None:
    by, foreign = world.people[who], "s3://lk/secret/planted"
    before = set(world.server.lake.rglob("*.metadata.json"))

    def create(name: str, location: str, *, described: bool, **properties: str) -> None:
        iceberg: dict[str, Any] = {"MetadataOperation": "CREATE"}
        table: dict[str, Any] = {"Name": name}
        if described:
            schema = {"Fields": [{"Id": 1, "Name": "id", "Type": "long", "Required": False}]}
            iceberg["CreateIcebergTableInput"] = {"Location": location, "Schema": schema, "Properties": properties}
        else:
            table["StorageDescriptor"] = {"Columns": COLUMNS, "Location": location}
        by.glue().create_table(DatabaseName=by.database, TableInput=table, OpenTableFormatInput={"IcebergInput": iceberg})

    for number, described in enumerate((True, False)):
        for where in (foreign, "s3://lk/./secret/x", "s3://lf/cards", "s3://lf/./cards/x"):
            with pytest.raises(ClientError, match=r"not authorized|DATA_LOCATION_ACCESS") as refused:
                create(f"g{number}", where, described=described)
            assert refused.value.response["Error"]["Code"] == "AccessDeniedException", where
    with pytest.raises(ClientError, match="not authorized"):
        create("g2", f"s3://lk/{who}/g2", described=True, **{"write.metadata.path": foreign})
    assert set(world.server.lake.rglob("*.metadata.json")) == before
    create("g3", f"s3://lk/{who}/g3", described=True)
    assert by.sql(f"SELECT * FROM {by.database}.g3") == ("SUCCEEDED", "[['id']]")


def test_a_commit_removes_no_foreign_file_that_its_metadata_log_names(world: World) -> None:
    by, victim = world.people["without"], world.server.lake / "lk" / "secret" / "f" / "rows.parquet"
    document = json.loads((world.server.lake / world.ice.removeprefix("s3://")).read_bytes())
    document |= {"location": "s3://lk/without/log", "table-uuid": str(uuid.uuid4()), "snapshots": [], "refs": {}}
    document |= {"current-snapshot-id": -1, "snapshot-log": []}
    document["properties"] = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    }
    document["metadata-log"] = [{"timestamp-ms": 1, "metadata-file": "s3://lk/secret/f/rows.parquet"}]
    place = by.write("log/metadata/00001-x.metadata.json", json.dumps(document).encode())
    assert _rest(by, "POST", "/register", {"name": "log", "metadata-location": place}).status_code == 200
    for value in "ab":
        update = {"action": "set-properties", "updates": {"x": value}}
        assert _rest(by, "POST", "/tables/log", {"requirements": [], "updates": [update]}).status_code == 200
    assert victim.is_file()


@pytest.mark.parametrize(
    "target",
    [
        {"S3Targets": [{"Path": "s3://lk/secret/f"}]},
        {"S3Targets": [{"Path": "s3://lk/./secret"}]},
        {"IcebergTargets": [{"Paths": ["s3://lk/secret"], "MaximumTraversalDepth": 2}]},
        {
            "DeltaTargets": [
                {"DeltaTables": ["s3://lk/secret/delta"], "CreateNativeDeltaTable": True, "WriteManifest": False}
            ]
        },
    ],
)
def test_crawls_read_by_the_rights_of_their_starter(world: World, target: dict[str, Any]) -> None:
    ends = {}
    for who in ("without", "reader"):
        glue, name = world.people[who].glue(), f"c{uuid.uuid4().hex}"
        glue.create_crawler(Name=name, Role="crawler", DatabaseName=f"found_{who}", Targets=target)
        glue.start_crawler(Name=name)
        _wait_for(glue, name)
        last = glue.get_crawler(Name=name)["Crawler"]["LastCrawl"]
        ends[who] = (last["Status"], last.get("ErrorMessage", ""))
    assert ends["reader"][0] == "SUCCEEDED"
    assert ends["without"][0] == "FAILED"
    assert "not authorized to perform: s3:" in ends["without"][1]


def _wait_for(glue: Any, name: str) -> None:
    wait_until(lambda: glue.get_crawler(Name=name)["Crawler"]["State"] == "READY", seconds=240)


def test_a_crawl_reads_by_its_role_too_if_glue_may_assume_it(world: World) -> None:
    iam = world.server.client("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": "glue.amazonaws.com"}, "Action": "sts:AssumeRole"}
    reads = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}
    for name, statements in (("reads", [reads]), ("reads_nothing", [])):
        policy = {"Version": "2012-10-17", "Statement": [trust]}
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(policy))
        for statement in statements:
            text = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
            iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=text)
    for who, role, status in (("without", "reads", "SUCCEEDED"), ("without", "reads_nothing", "FAILED")):
        glue, name = world.people[who].glue(), f"c{uuid.uuid4().hex}"
        targets = {"S3Targets": [{"Path": "s3://lk/secret/f"}]}
        glue.create_crawler(Name=name, Role=role, DatabaseName=f"found_{who}", Targets=targets)
        glue.start_crawler(Name=name)
        _wait_for(glue, name)
        assert glue.get_crawler(Name=name)["Crawler"]["LastCrawl"]["Status"] == status


def test_statements_write_and_remove_by_the_rights_in_s3(world: World) -> None:
    secret = world.server.lake / "lk" / "secret"
    before = set(secret.rglob("*"))
    by = world.people["without"]
    into = plain("s3://lk/secret/f/")(by).rpartition(" ")[2]
    for sql in (
        "CREATE TABLE of_without.c WITH (external_location = 's3://lk/secret/new/') AS SELECT 1 AS id",
        "CREATE TABLE of_without.c WITH (external_location = 's3://lk/./secret/new/') AS SELECT 1 AS id",
        "CREATE TABLE of_without.c WITH (table_type = 'ICEBERG', is_external = false, location = 's3://lk/secret/new/') "
        "AS SELECT 1 AS id",
        "CREATE TABLE of_without.c (id int) LOCATION 's3://lk/secret/new/' TBLPROPERTIES ('table_type'='ICEBERG')",
        "UNLOAD (SELECT 1 AS id) TO 's3://lk/secret/new/' WITH (format = 'PARQUET')",
        f"INSERT INTO {into} VALUES (1, 'x')",
        f"MSCK REPAIR TABLE {into}",
    ):
        state, text = by.sql(sql)
        if sql.startswith("MSCK"):
            continue  # the table has no partitions, so nothing is listed
        assert state == "FAILED", sql
        assert "not authorized to perform: s3:" in text, (sql, text)
    assert set(secret.rglob("*")) == before


def test_results_are_written_and_read_by_the_rights_in_s3(world: World) -> None:
    without, reader = world.people["without"], world.people["reader"]
    started = reader.start("SELECT 1")
    assert reader.end(started)[0] == "SUCCEEDED"
    with pytest.raises(ClientError, match="s3:GetObject"):
        without.client("athena").get_query_results(QueryExecutionId=started)
    with pytest.raises(ClientError, match="s3:PutObject"):
        without.client("athena").start_query_execution(
            QueryString="SELECT 1", ResultConfiguration={"OutputLocation": "s3://lk/secret/results/"}
        )

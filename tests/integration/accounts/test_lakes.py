"""The files of an account are its own: another account's administrator cannot read them under any name."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from penstock.testing.polling import eventually
from penstock.testing.server import RunningServer, running_server
from tests.integration.accounts.accounts_world import Identity, allow, policy

PARQUET = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}
SECRET, OWN = "of the first account", "of the consumer"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    # Nothing listens there: writing results through the first account's gateway fails.
    with running_server(arguments=["--s3-endpoint-url", "http://127.0.0.1:9"]) as running:
        for bucket, said in (("lake", SECRET), ("private", SECRET)):
            (running.lake / bucket / "words").mkdir(parents=True)
            pq.write_table(pa.table({"said": [said]}), running.lake / bucket / "words" / "part.parquet")
        yield running


@pytest.fixture(scope="module")
def consumer(server: RunningServer) -> Identity:
    root = Identity(server, {"AccessKeyId": server.access_key_id, "SecretAccessKey": server.secret_access_key})
    made = root.client("organizations").create_account(AccountName="consumer", Email="consumer@example.com")
    account = made["CreateAccountStatus"]["AccountId"]
    administrator = root.assume(f"arn:aws:iam::{account}:role/OrganizationAccountAccessRole")
    words = server.home / "lakes" / account / "lake" / "words"
    words.mkdir(parents=True)
    pq.write_table(pa.table({"said": [OWN]}), words / "part.parquet")
    administrator.client("glue").create_database(DatabaseInput={"Name": "d"})
    return administrator


def rows(identity: Identity, sql: str, **more: Any) -> list[str | None]:
    """The first column of the result, without its header."""
    athena = identity.client("athena")
    asked = athena.start_query_execution(QueryString=sql, **more)["QueryExecutionId"]

    def status() -> dict[str, Any]:
        return dict(athena.get_query_execution(QueryExecutionId=asked)["QueryExecution"]["Status"])

    eventually(lambda: status()["State"] in {"SUCCEEDED", "FAILED"}, "the statement has ended")
    ended = status()
    assert ended["State"] == "SUCCEEDED", ended["StateChangeReason"]
    result = athena.get_query_results(QueryExecutionId=asked)["ResultSet"]["Rows"]
    return [row["Data"][0].get("VarCharValue") for row in result[1:]]


def table(identity: Identity, name: str, location: str) -> str:
    storage = {**PARQUET, "Location": location, "Columns": [{"Name": "said", "Type": "string"}]}
    identity.client("glue").create_table(
        DatabaseName="d",
        TableInput={"Name": name, "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage, "PartitionKeys": []},
    )
    return f"SELECT said FROM d.{name}"


def test_each_account_has_its_own_bucket_of_a_name(server: RunningServer, consumer: Identity) -> None:
    assert rows(consumer, table(consumer, "own", "s3://lake/words/")) == [OWN]
    assert rows(consumer, table(consumer, "theirs", "s3://private/words/")) == []
    own = next((server.home / "lakes").iterdir())
    assert sorted((own / "lake" / "athena-results").glob("*.csv"))
    assert not (server.lake / "lake" / "athena-results").exists()


def test_work_groups_and_saved_statements_are_the_accounts_own(server: RunningServer, consumer: Identity) -> None:
    own, first = consumer.client("athena"), server.client("athena")
    own.create_work_group(Name="team", Configuration={"ResultConfiguration": {"OutputLocation": "s3://lake/team/"}})
    own.create_prepared_statement(StatementName="by_id", WorkGroup="primary", QueryStatement="SELECT ?")
    saved = own.create_named_query(Name="saved", Database="d", QueryString="SELECT 1")["NamedQueryId"]
    started = own.start_query_execution(QueryString="SELECT 1", WorkGroup="team")["QueryExecutionId"]
    assert [work_group["Name"] for work_group in own.list_work_groups()["WorkGroups"]] == ["primary", "team"]
    assert [work_group["Name"] for work_group in first.list_work_groups()["WorkGroups"]] == ["primary"]
    assert first.list_prepared_statements(WorkGroup="primary")["PreparedStatements"] == []
    asked: list[Callable[[], Any]] = [
        lambda: first.get_work_group(WorkGroup="team"),
        lambda: first.get_named_query(NamedQueryId=saved),
        lambda: first.get_query_execution(QueryExecutionId=started),
    ]
    for ask in asked:
        with pytest.raises(ClientError, match="not found"):
            ask()


@pytest.mark.parametrize("lead", ["link", "bucket-link"])
def test_a_link_does_not_lead_out_of_the_lake(server: RunningServer, consumer: Identity, lead: str) -> None:
    own = next((server.home / "lakes").iterdir())
    if lead == "link":
        (own / "lake" / "link").symlink_to(server.lake / "private")
        location = "s3://lake/link/words/"
    else:
        (own / "bucket-link").symlink_to(server.lake / "private")
        location = "s3://bucket-link/words/"
    with pytest.raises(AssertionError, match="leads outside the lake"):
        rows(consumer, table(consumer, lead.replace("-", "_"), location))


def test_results_are_not_written_to_another_accounts_bucket(consumer: Identity) -> None:
    for place in ("s3://private/x/", "s3://lake/../../lake/private/", "s3://../x/", "file:///tmp/x/"):
        with pytest.raises(ClientError, match=r"does not exist|not a usable S3 location|not an S3 location"):
            rows(consumer, "SELECT 1", ResultConfiguration={"OutputLocation": place})


@pytest.mark.parametrize("target", ["s3://lake/", "s3://private/", "s3://bucket-link/"])
def test_a_crawler_finds_only_its_own_accounts_files(consumer: Identity, target: str) -> None:
    glue = consumer.client("glue")
    name = "c" + target.strip("s3:/")
    role = "arn:aws:iam::" + consumer.client("sts").get_caller_identity()["Account"] + ":role/crawler"
    glue.create_database(DatabaseInput={"Name": name})
    glue.create_crawler(Name=name, Role=role, DatabaseName=name, Targets={"S3Targets": [{"Path": target}]})
    glue.start_crawler(Name=name)

    eventually(lambda: glue.get_crawler(Name=name)["Crawler"]["State"] == "READY", "the crawl has ended")
    last = glue.get_crawler(Name=name)["Crawler"]["LastCrawl"]
    results = [item["Name"] for item in glue.get_tables(DatabaseName=name)["TableList"]]
    if target == "s3://lake/":
        assert (last["Status"], "words" in results) == ("SUCCEEDED", True)
        assert rows(consumer, f"SELECT said FROM {name}.words") == [OWN]
    else:
        assert (last["Status"], results) == ("FAILED", [])


def user(consumer: Identity, name: str, *statements: dict[str, Any]) -> Identity:
    iam = consumer.client("iam")
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=policy(*statements))
    return Identity(consumer.server, iam.create_access_key(UserName=name)["AccessKey"])


def test_a_statement_reads_only_tables_that_its_user_may_read(consumer: Identity) -> None:
    words, _ = table(consumer, "words", "s3://lake/words/"), table(consumer, "kept", "s3://lake/words/")
    account = consumer.client("sts").get_caller_identity()["Account"]
    catalog = [f"arn:aws:glue:us-east-1:{account}:{item}" for item in ("catalog", "database/d", "table/d/words")]
    files = allow(["s3:GetObject", "s3:ListBucket", "s3:PutObject"], "*")
    bare = user(consumer, "bare", allow("athena:*", "*"), files)
    analyst = user(consumer, "analyst", allow("athena:*", "*"), files, allow(["glue:GetDatabase", "glue:GetTable"], catalog))
    why = "because no identity-based policy allows the glue:{0} action"
    refused = (
        "PERMISSION_DENIED: User: arn:aws:iam::{1}:user/{2} is not authorized to perform: glue:{0} on resource: {3} " + why
    )
    assert rows(analyst, words) == [OWN]
    for asked, sql, operation, resource in (
        (bare, words, "GetDatabase", "catalog"),
        (analyst, "SELECT a.said FROM d.words AS a JOIN d.kept AS b ON true", "GetTable", "table/d/kept"),
        (analyst, "SHOW TABLES IN d", "GetTables", "catalog"),
    ):
        name = "bare" if asked is bare else "analyst"
        said = refused.format(operation, account, name, f"arn:aws:glue:us-east-1:{account}:{resource}")
        with pytest.raises(AssertionError, match=re.escape(said)):
            rows(asked, sql)
    athena = analyst.client("athena")
    names = {"CatalogName": "AwsDataCatalog", "DatabaseName": "d"}
    athena.get_table_metadata(**names, TableName="words")
    with pytest.raises(ClientError, match="not authorized to perform: glue:GetTable"):
        athena.get_table_metadata(**names, TableName="kept")


def test_passing_a_crawlers_role_needs_permission(server: RunningServer, consumer: Identity) -> None:
    account = consumer.client("sts").get_caller_identity()["Account"]
    role = f"arn:aws:iam::{account}:role/crawler"
    passed = {"StringEquals": {"iam:PassedToService": "glue.amazonaws.com"}}
    targets = {"S3Targets": [{"Path": "s3://lake/"}]}
    crawling = user(consumer, "crawling", allow("glue:*", "*")).client("glue")
    with pytest.raises(ClientError, match=f"not authorized to perform: iam:PassRole on resource: {role} because"):
        crawling.create_crawler(Name="passed", Role=role, DatabaseName="d", Targets=targets)
    passing = user(consumer, "passing", allow("glue:*", "*"), allow("iam:PassRole", role, Condition=passed)).client("glue")
    passing.create_crawler(Name="passed", Role=role, DatabaseName="d", Targets=targets)
    crawling.update_crawler(Name="passed", Description="its role stays")
    with pytest.raises(ClientError, match="not authorized to perform: iam:PassRole"):
        crawling.update_crawler(Name="passed", Role="other")
    with pytest.raises(ClientError, match="Cross-account pass role is not allowed"):
        consumer.client("glue").update_crawler(Name="passed", Role=f"arn:aws:iam::{server.account}:role/crawler")

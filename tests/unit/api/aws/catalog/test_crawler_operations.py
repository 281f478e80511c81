"""Crawlers as boto3 calls them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError


def test_a_crawler_from_creation_to_metrics(glue: Any, lake: Path) -> None:
    folder = lake / "lake/flights/year=2013"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "a.parquet")
    targets = {"S3Targets": [{"Path": "s3://lake/flights/", "Exclusions": ["x/**"], "SampleSize": 5}]}
    glue.create_crawler(Name="c", Role="r", DatabaseName="air", Targets=targets, TablePrefix="p_", Tags={"team": "a"})
    made = glue.get_crawler(Name="c")["Crawler"]
    assert made["State"] == "READY"
    assert made["Targets"]["S3Targets"] == targets["S3Targets"]
    assert made["SchemaChangePolicy"] == {"UpdateBehavior": "UPDATE_IN_DATABASE", "DeleteBehavior": "DEPRECATE_IN_DATABASE"}
    assert "LastCrawl" not in made
    glue.update_crawler(Name="c", SchemaChangePolicy={"DeleteBehavior": "LOG"}, Description="d")
    made = glue.get_crawler(Name="c")["Crawler"]
    assert made["SchemaChangePolicy"] == {"UpdateBehavior": "UPDATE_IN_DATABASE", "DeleteBehavior": "LOG"}
    assert (made["Version"], made["Description"], made["TablePrefix"]) == (2, "d", "p_")
    glue.start_crawler(Name="c")
    deadline = datetime.now(UTC).timestamp() + 30
    while (crawler := glue.get_crawler(Name="c")["Crawler"])["State"] != "READY":
        assert datetime.now(UTC).timestamp() < deadline
    assert crawler["LastCrawl"]["Status"] == "SUCCEEDED"
    assert glue.get_partitions(DatabaseName="air", TableName="p_flights")["Partitions"][0]["Values"] == ["2013"]
    metrics = glue.get_crawler_metrics(CrawlerNameList=["c"])["CrawlerMetricsList"][0]
    assert (metrics["TablesCreated"], metrics["StillEstimating"]) == (1, False)
    assert glue.list_crawlers(Tags={"team": "a"})["CrawlerNames"] == ["c"]
    assert glue.list_crawlers(Tags={"team": "b"})["CrawlerNames"] == []
    several = glue.batch_get_crawlers(CrawlerNames=["c", "x"])
    assert ([item["Name"] for item in several["Crawlers"]], several["CrawlersNotFound"]) == (["c"], ["x"])
    assert [item["Name"] for item in glue.get_crawlers()["Crawlers"]] == ["c"]
    with pytest.raises(glue.exceptions.CrawlerNotRunningException):
        glue.stop_crawler(Name="c")
    with pytest.raises(glue.exceptions.AlreadyExistsException):
        glue.create_crawler(Name="c", Role="r", Targets=targets)
    crawls = glue.list_crawls(CrawlerName="c")["Crawls"]
    assert [crawl["State"] for crawl in crawls] == ["COMPLETED"]
    assert json.loads(crawls[0]["Summary"]) == {
        "TABLE": {"ADD": {"Count": 1, "Details": {"names": ["p_flights"]}}}, "PARTITION": {"ADD": {"Count": 1}}
    }  # fmt: skip
    filters_and_schedules(glue)
    glue.delete_crawler(Name="c")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.start_crawler(Name="c")


def filters_and_schedules(glue: Any) -> None:
    failed = [{"FieldName": "STATE", "FilterOperator": "EQ", "FieldValue": "FAILED"}]
    assert glue.list_crawls(CrawlerName="c", Filters=failed)["Crawls"] == []
    since = [{"FieldName": "START_TIME", "FilterOperator": "GT", "FieldValue": "1600000000000"}]
    assert len(glue.list_crawls(CrawlerName="c", Filters=since)["Crawls"]) == 1
    with pytest.raises(ClientError, match="cannot be filtered by DPU_HOUR"):
        glue.list_crawls(CrawlerName="c", Filters=[{"FieldName": "DPU_HOUR"}])
    with pytest.raises(glue.exceptions.NoScheduleException):
        glue.start_crawler_schedule(CrawlerName="c")
    glue.update_crawler_schedule(CrawlerName="c", Schedule="cron(15 12 * * ? *)")
    assert glue.get_crawler(Name="c")["Crawler"]["Schedule"]["State"] == "SCHEDULED"
    with pytest.raises(glue.exceptions.SchedulerRunningException):
        glue.start_crawler_schedule(CrawlerName="c")
    glue.stop_crawler_schedule(CrawlerName="c")
    assert glue.get_crawler(Name="c")["Crawler"]["Schedule"] == {
        "ScheduleExpression": "cron(15 12 * * ? *)", "State": "NOT_SCHEDULED"
    }  # fmt: skip
    with pytest.raises(glue.exceptions.SchedulerNotRunningException):
        glue.stop_crawler_schedule(CrawlerName="c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Schedule": "cron(0 * * * *)"}, "not of six fields"),
        ({"Schedule": "cron(* * * * ? *)"}, "more often than every 5 minutes"),
        ({"RecrawlPolicy": {"RecrawlBehavior": "CRAWL_NEW_FOLDERS_ONLY"}}, "UpdateBehavior and DeleteBehavior to LOG"),
        ({"Targets": {"MongoDBTargets": [{"ConnectionName": "x"}]}}, "MongoDBTargets .* are served"),
        ({"Targets": {"HudiTargets": [{"Paths": ["s3://lake/x/"]}]}}, "HudiTargets .* are served"),
        ({"Targets": {"JdbcTargets": [{"ConnectionName": "x"}]}}, "JDBC target has no Path"),
        ({"Targets": {"JdbcTargets": [{"ConnectionName": "x", "Path": "a/%"}]}}, "reads no tables outside the lake"),
        ({"Targets": {"DynamoDBTargets": [{"Path": "x", "scanRate": 2.0}]}}, "scanRate 2.0"),
        ({"Targets": {"IcebergTargets": [{"Paths": []}]}}, "has no path"),
        ({"Targets": {"IcebergTargets": [{"Paths": ["s3://lake/"], "MaximumTraversalDepth": 99}]}}, "Depth 99"),
        ({"Targets": {"DeltaTargets": [{"DeltaTables": ["s3://lake/x/"]}]}}, "native Delta tables"),
        ({"Targets": {"CatalogTargets": [{"DatabaseName": "d", "Tables": ["t"]}]}}, "DeleteBehavior LOG"),
        ({"Targets": {}}, "has no target"),
        ({"Targets": {"S3Targets": [{}]}}, "no Path"),
        ({"Targets": {"S3Targets": [{"Path": "lake"}]}}, "not an S3 location"),
        ({"RecrawlPolicy": {"RecrawlBehavior": "CRAWL_EVENT_MODE"}}, "S3 events"),
    ],
)
def test_crawlers_with_settings_that_are_not_served_are_refused(glue: Any, changes: dict[str, Any], message: str) -> None:
    expected = {"Name": "c", "Role": "r", "Targets": {"S3Targets": [{"Path": "s3://lake/x/"}]}, **changes}
    with pytest.raises(ClientError, match=message):
        glue.create_crawler(**expected)

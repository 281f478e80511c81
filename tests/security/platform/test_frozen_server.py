"""No statement, no pattern and no crawl freezes the server: each attack is bounded, and others are answered meanwhile."""

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from botocore.exceptions import ClientError

from penstock.local.platform import Platform
from tests.security.targets import Target, written_privately

ENDLESS = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) a(x), UNNEST(sequence(1, 10000)) b(y), "
    "UNNEST(sequence(1, 10000)) c(z) WHERE x * y * z = -1"
)
SLOW_TO_READ = "SELECT " + "TIMESTAMP (" * 40 + "1" + ")" * 40
LONG = "a" * 120
STORAGE = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
    "Columns": [{"Name": "x", "Type": "int"}],
}


@pytest.fixture(scope="module")
def target(platform: Platform) -> Target:
    """The embedded platform: these attacks do not depend on the store."""
    config = platform.config
    return Target(
        urls=(config.endpoint_url,),
        access_key_id=config.access_key_id,
        secret_access_key=config.secret_access_key,
        region=config.region,
        account=config.account,
    )


@pytest.fixture(scope="module")
def database(target: Target) -> Iterator[str]:
    """A database with a table whose name invites backtracking, and one of a thousand partitions; its name."""
    glue = target.client("glue")
    name = f"{LONG}{uuid4().hex[:7]}_"  # no pattern's last letter
    glue.create_database(DatabaseInput={"Name": name})
    keys = [{"Name": "day", "Type": "int"}]
    for table, partition_keys in ((LONG, []), ("parted", keys)):
        storage = {**STORAGE, "Location": f"s3://lake/{name}/{table}/"}
        described = {"Parameters": {"classification": "parquet"}, "TableType": "EXTERNAL_TABLE"}
        table_input = {"Name": table, "StorageDescriptor": storage, "PartitionKeys": partition_keys, **described}
        glue.create_table(DatabaseName=name, TableInput=table_input)
    for first in range(0, 1000, 100):
        inputs = [
            {"Values": [str(day)], "StorageDescriptor": {**STORAGE, "Location": f"s3://lake/{name}/parted/day={day}/"}}
            for day in range(first, first + 100)
        ]
        glue.batch_create_partition(DatabaseName=name, TableName="parted", PartitionInputList=inputs)
    yield name
    glue.delete_database(Name=name)


def start(athena: Any, sql: str, **request: Any) -> str:
    asked: str = athena.start_query_execution(QueryString=sql, **request)["QueryExecutionId"]
    return asked


def status(athena: Any, asked: str) -> dict[str, Any]:
    results: dict[str, Any] = athena.get_query_execution(QueryExecutionId=asked)["QueryExecution"]["Status"]
    return results


def reached(athena: Any, asked: str, *states: str) -> dict[str, Any]:
    """The statement's status once it is in one of ``states``."""
    while (results := status(athena, asked))["State"] not in states:
        assert results["State"] in {"QUEUED", "RUNNING"}, results
        time.sleep(0.02)
    return results


def ended(athena: Any, asked: str) -> dict[str, Any]:
    return reached(athena, asked, "SUCCEEDED", "FAILED", "CANCELLED")


def commands() -> dict[psutil.Process, list[str]]:
    """The processes below this one, with their commands."""
    result = {}
    for child in psutil.Process().children(recursive=True):
        # One that has ended since, or that its parent has not waited for yet, has no command.
        with suppress(psutil.NoSuchProcess):
            result[child] = child.cmdline()
    return result


def running_children() -> dict[int, psutil.Process]:
    """The processes of statements below this one, by id."""
    return {
        process.pid: process
        for process, command in commands().items()
        if "penstock.query.execution.child" in " ".join(command)
    }


def peak_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize("pattern", ["*a*" * 40 + "b", "|".join(["*a" * 15 + "b"] * 50)])
def test_a_pattern_of_stars_is_answered_at_once(target: Target, database: str, pattern: str) -> None:
    athena, glue = target.client("athena"), target.client("glue")
    for sql in (f"SHOW DATABASES LIKE '{pattern}'", f"SHOW TABLES '{pattern}'"):
        asked = start(athena, sql, QueryExecutionContext={"Database": database})
        assert ended(athena, asked)["State"] == "SUCCEEDED"
        assert athena.get_query_results(QueryExecutionId=asked)["ResultSet"]["Rows"] == []
    expected = {"DatabaseName": database, "Expression": pattern[: pattern.rfind("b", 0, 256) + 1]}
    assert athena.list_table_metadata(CatalogName="AwsDataCatalog", **expected)["TableMetadataList"] == []
    assert glue.get_tables(**expected)["TableList"] == []


@pytest.mark.parametrize("expression", ["(a+)+b", "(a|aa)*b", "(a|a?)+b", "(.*)*b", "(a{1,30}){1,30}b"])
def test_an_expression_that_backtracks_elsewhere_is_answered_or_refused_at_once(
    target: Target, database: str, expression: str
) -> None:
    athena, glue = target.client("athena"), target.client("glue")
    expected = {"DatabaseName": database, "Expression": expression}
    assert athena.list_table_metadata(CatalogName="AwsDataCatalog", **expected)["TableMetadataList"] == []
    assert glue.get_tables(**expected)["TableList"] == []


def test_memory_of_a_statement_is_bounded_and_its_end_is_reported(target: Target) -> None:
    athena = target.client("athena")
    # Two billion signs, made of large pieces: made of single ones they take the processor six times as long.
    asked = start(athena, "SELECT length(replace(rpad('x', 1000000, 'x'), 'x', rpad('y', 2000, 'y')))")
    results = ended(athena, asked)
    assert results["State"] == "FAILED"
    assert results["StateChangeReason"].startswith(
        "EXCEEDED_MEMORY_LIMIT: The query needs more memory than the limit of a query."
    )
    children = running_children()
    assert children
    # The engine's gigabyte, and half of one for everything else.
    assert max(peak_bytes(pid) for pid in children) < 1_800 << 20


@pytest.mark.parametrize(
    "sql",
    [
        ENDLESS,
        # A function of the partition key alone is computed while partitions are pruned.
        "SELECT count(*) FROM parted WHERE length(rpad(rpad(CAST(day AS varchar), 2000000000, 'x'), 2000000000, 'y')) < 0",
        "SELECT count(*) FROM parted WHERE length(rpad('x', 2000000000 + day, 'y')) < 0",
    ],
)
def test_a_stop_ends_whatever_runs_while_others_are_answered(target: Target, database: str, sql: str) -> None:
    athena, other = target.client("athena"), target.client("glue")
    before = set(running_children())
    asked = start(athena, sql, QueryExecutionContext={"Database": database})
    reached(athena, asked, "RUNNING")
    assert other.get_database(Name=database)["Database"]["Name"] == database
    assert status(athena, asked)["State"] == "RUNNING"
    acquired = set(running_children())
    athena.stop_query_execution(QueryExecutionId=asked)
    assert ended(athena, asked)["State"] == "CANCELLED"
    # Its process is gone with it: nothing goes on behind the answer.
    assert (acquired | before) - set(running_children())
    asked = start(athena, "SELECT 1")
    assert ended(athena, asked)["State"] == "SUCCEEDED"


def test_text_that_is_slow_to_parse_is_refused_while_others_are_answered(target: Target) -> None:
    athena, other = target.client("athena"), target.client("glue")
    with ThreadPoolExecutor(2) as attackers:
        attacks = [attackers.submit(start, athena, SLOW_TO_READ) for _ in range(2)]
        other.get_databases()
        assert not any(attack.done() for attack in attacks)
        for attack in attacks:
            with pytest.raises(ClientError, match="takes longer than 3 seconds to parse"):
                attack.result()
    assert ended(athena, start(athena, "SELECT 1"))["State"] == "SUCCEEDED"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 10_000 + "1" + ")" * 10_000,
        "SELECT " + "CASE WHEN a THEN " * 5_000 + "1" + " END" * 5_000,
        "SELECT " + "NOT " * 40_000 + "true",
        "SELECT " + "-" * 2 + "\n" + "- " * 40_000 + "1",
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "t" + ")" * 500,
        "SELECT 1" + " UNION SELECT 1" * 16_000,
        "SELECT " + "a." * 24_000 + "b",
    ],
)
def test_deep_and_long_text_is_refused_or_runs(target: Target, sql: str) -> None:
    athena = target.client("athena")
    try:
        asked = start(athena, sql)
    except ClientError as error:
        assert error.response["Error"]["Code"] == "InvalidRequestException"  # noqa: PT017 what does not raise is an answer too
    else:
        athena.stop_query_execution(QueryExecutionId=asked)
        assert ended(athena, asked)["State"] in {"SUCCEEDED", "FAILED", "CANCELLED"}
    assert ended(athena, start(athena, "SELECT 1"))["State"] == "SUCCEEDED"


def test_a_result_of_many_line_breaks_is_returned_in_linear_time(target: Target) -> None:
    athena, other = target.client("athena"), target.client("glue")
    lines = 1_000_000
    asked = start(athena, f"SELECT rpad('a', {2 * lines - 1}, chr(10) || 'a') AS text, 'b' AS more")
    assert ended(athena, asked)["State"] == "SUCCEEDED"
    answers: list[Any] = []
    reader = threading.Thread(target=lambda: answers.append(athena.get_query_results(QueryExecutionId=asked)))
    reader.start()
    other.get_databases()
    reader.join()
    header, row = answers[0]["ResultSet"]["Rows"]
    assert header["Data"] == [{"VarCharValue": "text"}, {"VarCharValue": "more"}]
    assert row["Data"] == [{"VarCharValue": "\n".join(["a"] * lines)}, {"VarCharValue": "b"}]


def test_crawls_beyond_the_bound_are_refused_and_all_end(target: Target, platform: Platform, tmp_path: Path) -> None:
    glue, other = target.client("glue"), target.client("athena")
    server = next(process for process, command in commands().items() if "serve" in command)
    name = f"crowd{uuid4().hex[:8]}"
    folder = platform.home.lake / "lake" / name
    with written_privately():
        folder.mkdir()
        pq.write_table(pa.table({"x": [1]}), folder / "0.parquet")
        # So many that no crawl ends before all are started.
        for number in range(1, 30_000):
            (folder / f"{number}.parquet").hardlink_to(folder / "0.parquet")
    glue.create_database(DatabaseInput={"Name": name})
    crawlers = [f"{name}{number}" for number in range(140)]
    for crawler in crawlers:
        targets = {"S3Targets": [{"Path": f"s3://lake/{name}/", "Exclusions": ["**a*" * 20 + "b"]}]}
        glue.create_crawler(Name=crawler, Role="crawler", DatabaseName=name, Targets=targets)
    threads = server.num_threads()
    refused = []
    for crawler in crawlers:
        try:
            glue.start_crawler(Name=crawler)
        except ClientError as error:
            refused.append(error.response["Error"]["Code"])
    assert set(refused) == {"ResourceNumberLimitExceededException"}
    assert ended(other, start(other, "SELECT 1"))["State"] == "SUCCEEDED"
    assert server.num_threads() < threads + 60  # the handlers' own pool has up to 40
    states = [crawler["State"] for crawler in glue.get_crawlers()["Crawlers"] if crawler["Name"] in crawlers]
    assert "RUNNING" in states
    for crawler in crawlers:
        with suppress(glue.exceptions.CrawlerNotRunningException):
            glue.stop_crawler(Name=crawler)
    for crawler in crawlers:
        while glue.get_crawler(Name=crawler)["Crawler"]["State"] != "READY":
            time.sleep(0.02)
        glue.delete_crawler(Name=crawler)
    glue.delete_database(Name=name)
    shutil.rmtree(folder)

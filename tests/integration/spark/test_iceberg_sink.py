"""The Iceberg sink on Spark, in Penstock's own Glue catalog: batches once, evolution, expiry, and what pyiceberg reads."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.glue import GlueCatalog
from pyspark.sql import SparkSession
from pyspark.sql.types import DoubleType, IntegerType, StructField, StructType

from awsglue.context import GlueContext
from penstock.client.catalog import CatalogClient
from penstock.errors import InvalidInput
from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports
from penstock.pipelines import ChangeCapture, IcebergSink, parse_pipeline
from penstock.retries import wait_until
from penstock.spark.maintenance.iceberg import maintain_iceberg
from penstock.spark.maintenance.procedures import TableMaintenance
from penstock.spark.running.runner import RunOptions, run
from penstock.spark.sinks.iceberg.commits import Attempt, BatchBranch, Overtaken, branch_name
from penstock.spark.sinks.iceberg.writer import IcebergWriter
from penstock.spark.sinks.port import Published, SinkBatch
from penstock.spark.tables.changes import changes
from penstock.testing.server import RunningServer, running_server
from tests.integration.spark.batches import CDC, a_batch
from tests.integration.spark.lake_types import COLUMNS
from tests.integration.spark.stream import Registry, frame, records

RECORDS = "key binary, value binary, topic string, partition int, offset bigint"

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def server(spark_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server whose lake is the session's."""
    home = tmp_path_factory.mktemp("iceberg")
    (home / "lake").symlink_to(spark_lake)
    with running_server(home) as running:
        yield running


@pytest.fixture(scope="module")
def aws(server: RunningServer, spark: SparkSession) -> Iterator[dict[str, str]]:
    """AWS's variables for Iceberg; its keys come from the JVM's properties, as this process's variables are fixed."""
    results = server.environment()
    system: Any = spark._jvm.java.lang.System  # type: ignore[union-attr]
    system.setProperty("aws.accessKeyId", results["AWS_ACCESS_KEY_ID"])
    system.setProperty("aws.secretAccessKey", results["AWS_SECRET_ACCESS_KEY"])
    yield results
    system.clearProperty("aws.accessKeyId")
    system.clearProperty("aws.secretAccessKey")


@pytest.fixture(scope="module")
def objects(spark_lake: Path, aws: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """The S3 endpoint over the session's lake, with the server's keys."""
    with ObjectStore(
        lake=spark_lake,
        folder=tmp_path_factory.mktemp("objects"),
        port=free_ports(1)[0],
        access_key_id=aws["AWS_ACCESS_KEY_ID"],
        secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
        account="000000000000",
    ) as running:
        yield running


def _pyiceberg(aws: dict[str, str], objects: ObjectStore) -> GlueCatalog:
    """pyiceberg's own catalog and files, over our endpoints."""
    keys = {"access-key-id": aws["AWS_ACCESS_KEY_ID"], "secret-access-key": aws["AWS_SECRET_ACCESS_KEY"]}
    settings = {"glue.endpoint": aws["AWS_ENDPOINT_URL"], "s3.endpoint": objects.endpoint_url}
    for service in ("glue", "s3"):
        settings |= {f"{service}.{name}": value for name, value in {**keys, "region": aws["AWS_REGION"]}.items()}
    return GlueCatalog("glue", **settings)


def _sink(table: str, **more: Any) -> IcebergSink:
    return IcebergSink(**{"name": "ice", "table": f"shop.{table}", "warehouse": "s3://tables/wh", **more})


def _rows(spark: SparkSession, writer: IcebergWriter) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(writer.identifier).collect())


def test_a_batch_is_in_the_table_once_and_other_clients_read_it(
    spark: SparkSession, spark_lake: Path, aws: dict[str, str], objects: ObjectStore
) -> None:
    writer = IcebergWriter(_sink("orders", partition_by=("day", "bucket(4, id)")), spark, aws)
    writer.check()
    assert writer.table() is None
    first = a_batch(spark, 0, [(1, "a", "mon", 0, 0), (2, "b", "tue", 0, 1)])
    done = writer.publish(first)
    assert (done.rows, done.replayed) == (2, False)
    assert writer.publish(first) == Published(rows=2, reference=done.reference, replayed=True)
    writer.publish(a_batch(spark, 1, [(3, "c", "mon", 0, 2)]))
    assert writer.publish(first).replayed  # an earlier batch of the same query
    expected = [(1, "a", "mon"), (2, "b", "tue"), (3, "c", "mon")]
    assert _rows(spark, writer) == expected
    assert (writer.table() or first.columns).names == ["id", "name", "day"]

    catalog = _pyiceberg(aws, objects)
    assert catalog.list_tables("shop") == [("shop", "orders")]
    table = catalog.load_table("shop.orders")
    assert [str(field.transform) for field in table.spec().fields] == ["identity", "bucket[4]"]
    assert sorted(map(tuple, (row.values() for row in table.scan().to_arrow().to_pylist()))) == expected
    assert table.scan(row_filter="id = 2").to_arrow().to_pylist() == [{"id": 2, "name": "b", "day": "tue"}]
    current: Any = table.current_snapshot()
    assert current.summary["penstock.batch"] == "1"
    assert not list((spark_lake / "tables/wh").rglob("*.crc"))


def test_a_kill_before_publication_leaves_nothing_and_the_next_attempt_writes(
    spark: SparkSession, aws: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = IcebergWriter(_sink("killed"), spark, aws)
    writer.publish(a_batch(spark, 0, [(1, "a", "mon", 0, 0)]))

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BatchBranch, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            writer.publish(a_batch(spark, 1, [(2, "b", "mon", 0, 1)]))
    assert _rows(spark, writer) == [(1, "a", "mon")]
    assert not writer.publish(a_batch(spark, 1, [(2, "b", "mon", 0, 1)])).replayed
    assert _rows(spark, writer) == [(1, "a", "mon"), (2, "b", "mon")]


def test_of_two_writers_of_one_batch_one_writes(
    spark: SparkSession, aws: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, rival = (IcebergWriter(_sink("rivals"), spark, aws) for _ in range(2))
    writer.publish(a_batch(spark, 0, [(1, "a", "mon", 0, 0)]))
    batch = a_batch(spark, 1, [(2, "b", "mon", 0, 1)])
    begin, publish = BatchBranch.begin, BatchBranch.publish
    overtaken: list[str] = []

    def rival_first(when: str) -> Any:
        """Let the rival publish the whole batch once, just before or behind the writer's own rows."""

        def around(branch: BatchBranch, *arguments: Any) -> Any:
            with monkeypatch.context() as undone:
                undone.setattr(BatchBranch, "begin", begin)
                undone.setattr(BatchBranch, "publish", publish)
                if when not in overtaken:
                    overtaken.append(when)
                    assert not rival.publish(batch).replayed
            return publish(branch, *arguments)

        return around

    with monkeypatch.context() as patched:
        patched.setattr(BatchBranch, "publish", rival_first("before publish"))
        assert writer.publish(batch).replayed
    assert overtaken == ["before publish"]
    assert _rows(spark, writer) == [(1, "a", "mon"), (2, "b", "mon")]


def test_a_commit_between_the_check_and_the_transaction_s_own_is_not_lost(spark: SparkSession, aws: dict[str, str]) -> None:
    """What Iceberg must do for the sink: refuse to move a reference of a table that has changed meanwhile."""
    writer = IcebergWriter(_sink("race"), spark, aws)
    writer.publish(a_batch(spark, 0, [(1, "a", "mon", 0, 0)]))
    batch = a_batch(spark, 1, [(2, "b", "mon", 0, 1)])
    mine = writer.open(spark)
    branch = BatchBranch(mine, batch)
    attempt = branch.begin()
    spark.sql(f"INSERT INTO {writer.identifier}.`branch_{branch.name}` VALUES (2, 'b', 'mon')")
    mine.refresh()
    head = mine.snapshot(branch.name)
    transaction = mine.newTransaction()
    transaction.manageSnapshots().replaceBranch("main", head.snapshotId()).commit()
    transaction.updateProperties().set("x", "y").commit()
    spark.sql(f"INSERT INTO {writer.identifier} VALUES (9, 'other', 'mon')")
    with pytest.raises(Exception, match="CommitFailedException"):
        transaction.commitTransaction()
    with pytest.raises(Overtaken):
        branch.publish(Attempt(base=attempt.base, summary=attempt.summary))
    assert _rows(spark, writer) == [(1, "a", "mon"), (9, "other", "mon")]
    writer.publish(batch)
    assert _rows(spark, writer) == [(1, "a", "mon"), (2, "b", "mon"), (9, "other", "mon")]


def test_threads_that_append_to_one_table_lose_nothing(spark: SparkSession, aws: dict[str, str]) -> None:
    sinks = [_sink("crowd", name=f"s{number}") for number in range(2)]
    writers = [IcebergWriter(sink, spark, aws) for sink in sinks]
    writers[0].publish(a_batch(spark, 0, [(0, "a", "mon", 0, 0)], sink="s0"))

    def append(number: int) -> None:
        for batch in (1, 2):
            rows = [(10 * number + batch, "t", "mon", 0, batch)]
            writers[number].publish(a_batch(spark, batch, rows, sink=f"s{number}"))

    threads = [threading.Thread(target=append, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row[0] for row in _rows(spark, writers[0])] == [0, 1, 2, 11, 12]


def test_changes_are_merged_once(spark: SparkSession, aws: dict[str, str]) -> None:
    upsert = IcebergWriter(_sink("merged", mode="upsert", keys=("id",)), spark, aws)
    upsert.publish(a_batch(spark, 0, [(1, "old", "mon", 0, 0), (1, "a", "mon", 0, 1), (2, "b", "tue", 0, 2)]))
    capture = ChangeCapture(envelope="column", operation="op")
    writer = IcebergWriter(_sink("merged", mode="cdc", keys=("id",), changes=capture), spark, aws)
    batch = a_batch(
        spark, 1, [(1, "A", "wed", 0, 3, "u"), (2, "b", "tue", 0, 4, "d"), (3, "c", "wed", 0, 5, "c")], CDC, drop=("op",)
    )
    assert not writer.publish(batch).replayed
    assert writer.publish(batch).replayed
    assert _rows(spark, writer) == [(1, "A", "wed"), (3, "c", "wed")]
    nothing = a_batch(spark, 2, [(7, "gone", "mon", 0, 6, "d")], CDC, drop=("op",))
    assert not writer.publish(nothing).replayed
    assert writer.publish(nothing).replayed
    assert _rows(spark, writer) == [(1, "A", "wed"), (3, "c", "wed")]


def test_a_batch_whose_snapshot_has_expired_is_known_and_one_rolled_back_is_not(
    spark: SparkSession, aws: dict[str, str]
) -> None:
    writer = IcebergWriter(_sink("aged"), spark, aws)
    batch = a_batch(spark, 0, [(1, "a", "mon", 0, 0)])
    reference = writer.publish(batch).reference
    spark.sql(f"INSERT INTO {writer.identifier} VALUES (9, 'other', 'mon')")
    table = writer.open(spark)
    table.manageSnapshots().removeBranch(branch_name(batch.pipeline, batch.sink)).commit()
    table.expireSnapshots().expireSnapshotId(int(reference or 0)).commit()
    assert table.snapshot(int(reference or 0)) is None
    assert writer.publish(batch) == Published(rows=1, reference=reference, replayed=True)
    before = table.currentSnapshot().snapshotId()
    later = a_batch(spark, 1, [(2, "b", "mon", 0, 1)])
    writer.publish(later)
    table.refresh()
    table.manageSnapshots().rollbackTo(before).commit()
    assert not writer.publish(later).replayed
    assert _rows(spark, writer) == [(1, "a", "mon"), (2, "b", "mon"), (9, "other", "mon")]


def test_a_table_without_the_property_is_known_by_its_history(spark: SparkSession, aws: dict[str, str]) -> None:
    writer = IcebergWriter(_sink("replaced"), spark, aws)
    batch = a_batch(spark, 0, [(1, "a", "mon", 0, 0)])
    writer.publish(batch)
    writer.open(spark).updateProperties().remove("penstock.batch.orders.ice").commit()
    assert writer.publish(batch).replayed
    other = SinkBatch(**{**{name: getattr(batch, name) for name in batch.__slots__}, "query": "b" * 32})
    assert not writer.publish(other).replayed  # batch 0 of another query is another batch


def test_columns_follow_the_stream_and_old_files_stay_readable(spark: SparkSession, aws: dict[str, str]) -> None:
    writer = IcebergWriter(_sink("evolved"), spark, aws)
    writer.publish(
        a_batch(spark, 0, [(1, "a", 2, 0, 0)], "id bigint, name string, seats int, _partition int, _offset bigint")
    )
    later = a_batch(
        spark,
        1,
        [(2, "b", 2**40, "x", (1, "m"), 0, 1)],
        "id bigint, title string, seats bigint, gate string, more struct<n:int,t:string>, _partition int, _offset bigint",
    )
    results = changes(writer.table() or later.columns, later.columns, {"title": ["name"]})
    assert [writer.unsupported(change) for change in results] == [None] * 4
    writer.evolve(results)
    assert changes(writer.table() or later.columns, later.columns, {}) == []
    writer.publish(later)
    nested = a_batch(
        spark,
        2,
        [(3, None, 5, None, (1, "m", 7.5), 0, 2)],
        "id bigint, title string, seats bigint, gate string, more struct<n:bigint,t:string,d:double>, "
        "_partition int, _offset bigint",
    )
    writer.evolve(changes(writer.table() or nested.columns, nested.columns, {}))
    writer.publish(nested)
    assert _rows(spark, writer) == [
        (1, "a", 2, None, None),
        (2, "b", 2**40, "x", (1, "m", None)),
        (3, None, 5, None, (1, "m", 7.5)),
    ]
    narrow, wide = (StructType([StructField("n", kind)]) for kind in (IntegerType(), DoubleType()))
    (refused,) = changes(narrow, wide, {})
    assert writer.unsupported(refused) == "Iceberg does not widen int to double"


def test_maintenance_keeps_the_newest_marker_and_the_rows(
    spark: SparkSession, spark_lake: Path, aws: dict[str, str]
) -> None:
    sink = _sink("maintained")
    writer = IcebergWriter(sink, spark, aws)
    rows = [(number, "a", "mon", 0, number) for number in range(4)]
    batches = [a_batch(spark, number, [row]) for number, row in enumerate(rows)]
    for batch in batches:
        writer.publish(batch)
    reference = int(writer.publish(batches[-1]).reference or 0)
    spark.sql(f"INSERT INTO {writer.identifier} VALUES (9, 'other', 'mon')")
    orphan = spark_lake / "tables/wh/shop.db/maintained/data/orphan.parquet"
    orphan.write_bytes(b"left by a killed task")
    young = orphan.with_name("young.parquet")
    young.write_bytes(b"of a task that runs")
    os.utime(orphan, (time.time() - 3 * 86_400,) * 2)
    done = maintain_iceberg(spark, sink, TableMaintenance(min_files=2, expire_after=0, orphans_after=0), environment=aws)
    counts = {procedure_report.procedure: procedure_report.counts for procedure_report in done}
    assert counts["rewrite_data_files"]["rewritten_data_files_count"] == 5
    assert counts["rewrite_data_files"]["added_data_files_count"] == 1
    assert counts["expire_snapshots"]["deleted_manifest_lists_count"] > 0
    assert counts["remove_orphan_files"]["orphan_files_count"] == 1
    assert (orphan.exists(), young.exists()) == (False, True)
    table = writer.open(spark)
    assert table.snapshot(reference) is not None  # the stream's newest, though two commits followed it
    assert table.snapshot(int(table.currentSnapshot().snapshotId())) is not None
    assert _rows(spark, writer) == [*((number, "a", "mon") for number in range(4)), (9, "other", "mon")]
    assert all(writer.publish(batch).replayed for batch in batches)
    writer.publish(a_batch(spark, 4, [(10, "b", "mon", 0, 10)]))
    assert len(_rows(spark, writer)) == 6


def test_a_table_of_another_kind_is_refused(spark: SparkSession, server: RunningServer, aws: dict[str, str]) -> None:
    glue = server.client("glue")
    glue.create_database(DatabaseInput={"Name": "other"})
    glue.create_table(DatabaseName="other", TableInput={"Name": "plain", "StorageDescriptor": {"Location": "s3://lk/plain"}})
    writer = IcebergWriter(IcebergSink(name="ice", table="other.plain", warehouse="s3://tables/wh"), spark, aws)
    with pytest.raises(InvalidInput, match=r"other\.plain is in the catalog and is not an Iceberg table"):
        writer.check()


TYPES = """
name: types
source: {{files: {{location: s3://lk/types/arrived}}}}
decode: {{registry: tests, schema: flights}}
transform: {{sql: "SELECT {columns} FROM records"}}
sinks:
  files: {{parquet: {{location: s3://lk/types/rows, catalog: {{database: types, table: files, create: true}}}}}}
  ice: {{iceberg: {{table: types.ice, warehouse: s3://tables/wh}}}}
dead_letters: {{location: s3://lk/types/dead}}
checkpoint: s3://lk/types/checkpoint
"""


@pytest.fixture
def pyiceberg(aws: dict[str, str], objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> GlueCatalog:
    """pyiceberg, and AWS's variables in this process for the runner and Glue's library."""
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    return _pyiceberg(aws, objects)


def test_every_type_of_the_runners_rows_is_the_same_to_every_reader(
    spark: SparkSession, server: RunningServer, pyiceberg: GlueCatalog, glue_context: GlueContext
) -> None:
    record = spark.createDataFrame([(b"k", frame(1, records(0, 1)[0]), "t", 0, 0)], RECORDS)
    record.selectExpr("*", "timestamp'2024-05-01 08:00:00Z' AS kafka_timestamp").write.parquet(
        "s3://lk/types/arrived/date=d"
    )
    columns = ", ".join(f"{column.spark} AS {name}" for name, column in COLUMNS.items())
    pipeline = parse_pipeline(TYPES.format(columns=columns), environment={})
    report = run(pipeline, spark, RunOptions(registry=Registry(), once=True, catalog=CatalogClient()))
    assert (report.rows, report.dead) == (1, 0)

    glue, catalog_types = server.client("glue"), {name: column.catalog for name, column in COLUMNS.items()}
    assert _catalog_types(glue, "types", "files") == catalog_types
    table = pyiceberg.load_table("types.ice")
    assert {field.name: str(field.field_type) for field in table.schema().fields} == {
        name: column.iceberg for name, column in COLUMNS.items()
    }
    assert table.scan().to_arrow().num_rows == 1
    assert _by_sql(server, "files") == [column.value for column in COLUMNS.values()]
    assert _by_sql(server, "ice") == [column.moment or column.value for column in COLUMNS.values()]

    _crawl(glue, "s3://lk/types/rows/")
    assert _catalog_types(glue, "crawled", "rows") == catalog_types

    read = glue_context.create_dynamic_frame.from_catalog(database="types", table_name="files")
    assert {field.name: field.dataType.typeName() for field in read.schema()} == {
        name: column.glue for name, column in COLUMNS.items()
    }
    sink = glue_context.getSink(connection_type="s3", path="s3://lk/types/copy/", enableUpdateCatalog=True)
    sink.setFormat("glueparquet")
    sink.setCatalogInfo(catalogDatabase="types", catalogTableName="copy")
    sink.writeFrame(read)
    assert _catalog_types(glue, "types", "copy") == catalog_types
    assert _by_sql(server, "copy") == [column.value for column in COLUMNS.values()]


def _catalog_types(glue: Any, database: str, table: str) -> dict[str, str]:
    columns = glue.get_table(DatabaseName=database, Name=table)["Table"]["StorageDescriptor"]["Columns"]
    return {column["Name"]: column["Type"] for column in columns}


def _by_sql(server: RunningServer, table: str) -> list[str]:
    """The values of a table's one row, as Athena's API has them."""
    athena = server.client("athena")
    query = athena.start_query_execution(
        QueryString=f"SELECT {', '.join(COLUMNS)} FROM {table}", QueryExecutionContext={"Database": "types"}
    )["QueryExecutionId"]

    def ended() -> Any:
        status = athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]
        return None if status["State"] in {"QUEUED", "RUNNING"} else status

    status = wait_until(ended, seconds=120)
    assert status is not None
    assert status["State"] == "SUCCEEDED", status
    _, row = athena.get_query_results(QueryExecutionId=query)["ResultSet"]["Rows"]
    return [value["VarCharValue"] for value in row["Data"]]


def _crawl(glue: Any, path: str) -> None:
    glue.create_database(DatabaseInput={"Name": "crawled"})
    glue.create_crawler(Name="types", Role="any", DatabaseName="crawled", Targets={"S3Targets": [{"Path": path}]})
    glue.start_crawler(Name="types")
    last = wait_until(lambda: glue.get_crawler(Name="types")["Crawler"].get("LastCrawl"), seconds=120)
    assert last is not None
    assert last["Status"] == "SUCCEEDED", last

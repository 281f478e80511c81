"""Iceberg tables of Spark in Athena's SQL, and of Athena's SQL in Spark: both say the same about each."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.testing.server import RunningServer
from tests.integration.iceberg.world import KEY, SECRET, open_world

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WAITING = {"QUEUED", "RUNNING"}
Sql = Callable[[str], list[list[str | None]]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with an S3 endpoint, which have the same users."""
    with open_world(tmp_path_factory.mktemp("iceberg-athena")) as opened:
        yield opened.server


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, server: RunningServer) -> Iterator[Sql]:
    """A function that runs a statement in Spark, over a catalog ``lake`` that is the server's REST endpoint."""
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": f"{server.endpoint_url}/iceberg",
        ".warehouse": server.account,
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".cache-enabled": "false",
        ".s3.access-key-id": KEY,
        ".s3.secret-access-key": SECRET,
        ".rest.sigv4-enabled": "true",
        ".rest.signing-name": "glue",
        ".rest.signing-region": server.region,
        ".rest.access-key-id": KEY,
        ".rest.secret-access-key": SECRET,
    }
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.lake{key}", value)

    def run(text: str) -> list[list[str | None]]:
        rows = spark.sql(text).collect()
        return [[None if value is None else str(value) for value in row] for row in rows]

    run("CREATE NAMESPACE lake.both")
    yield run
    for key in settings:
        spark.conf.unset(f"spark.sql.catalog.lake{key}")


@pytest.fixture(scope="module")
def by_athena(server: RunningServer) -> Sql:
    """A function that runs a statement of Athena's."""
    athena = server.client("athena")

    def run(text: str) -> list[list[str | None]]:
        query = athena.start_query_execution(QueryString=text, QueryExecutionContext={"Database": "both"})[
            "QueryExecutionId"
        ]
        deadline = time.monotonic() + 120
        while (status := athena.get_query_execution(QueryExecutionId=query)["QueryExecution"])["Status"]["State"] in WAITING:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert status["Status"]["State"] == "SUCCEEDED", status["Status"]["StateChangeReason"]
        rows = athena.get_query_results(QueryExecutionId=query)["ResultSet"]["Rows"]
        results = [[item.get("VarCharValue") for item in row["Data"]] for row in rows]
        return results[1:] if status["StatementType"] == "DML" else results

    return run


@pytest.mark.parametrize("version", [2, 3])
def test_merge_on_read_of_spark(by_spark: Sql, by_athena: Sql, version: int) -> None:
    """Position deletes in version 2, deletion vectors in version 3."""
    name = f"mor{version}"
    by_spark(
        f"CREATE TABLE lake.both.{name} (id BIGINT, k STRING, nested STRUCT<a: INT, b: ARRAY<STRING>>) USING iceberg "
        f"PARTITIONED BY (k, bucket(2, id)) TBLPROPERTIES ('format-version' = '{version}', "
        "'write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read')"
    )
    by_spark(
        f"INSERT INTO lake.both.{name} SELECT id, IF(id % 3 = 0, NULL, concat('k', id % 3)), "
        "named_struct('a', CAST(id AS INT), 'b', array('x', NULL)) FROM range(100)"
    )
    by_spark(f"DELETE FROM lake.both.{name} WHERE id % 7 = 0")
    by_spark(f"UPDATE lake.both.{name} SET id = id + 1000 WHERE id % 5 = 1")
    by_spark(f"DELETE FROM lake.both.{name} WHERE id = 50")
    sql = "SELECT id, k, nested.a, nested.b[1] FROM {} ORDER BY id"
    expected = by_spark(sql.format(f"lake.both.{name}").replace("[1]", "[0]"))
    assert by_athena(sql.format(name)) == expected
    by_id = "SELECT id FROM {} WHERE k = 'k1' AND id BETWEEN 10 AND 40 ORDER BY id"
    assert by_athena(by_id.format(name)) == by_spark(by_id.format(f"lake.both.{name}"))
    plan = "\n".join(str(row[0]) for row in by_athena(f"EXPLAIN SELECT * FROM {name}"))
    assert ("deletion vectors" if version == 3 else "position deletes") in plan


def test_equality_deletes(spark: SparkSession, by_spark: Sql, by_athena: Sql) -> None:
    """Iceberg's Java library writes them, as Flink does: they hold for rows that are older than they."""
    by_spark("CREATE TABLE lake.both.eq (id INT, k STRING, v INT) USING iceberg PARTITIONED BY (k)")
    by_spark("INSERT INTO lake.both.eq VALUES (1, 'a', 1), (2, 'a', NULL), (3, 'b', 3), (4, 'b', 3)")
    _delete_equal(spark, "lake.both.eq", "a", {"id": 1})
    _delete_equal(spark, "lake.both.eq", "b", {"id": 1})
    _delete_equal(spark, "lake.both.eq", "a", {"v": None})
    by_spark("INSERT INTO lake.both.eq VALUES (1, 'a', 10)")
    expected = by_spark("SELECT id, k, v FROM lake.both.eq ORDER BY id, v")
    assert expected == [["1", "a", "10"], ["3", "b", "3"], ["4", "b", "3"]]
    assert by_athena("SELECT id, k, v FROM eq ORDER BY id, v") == expected
    assert by_athena("SELECT k FROM eq ORDER BY k") == [["a"], ["b"], ["b"]]
    assert "equality deletes" in "\n".join(str(row[0]) for row in by_athena("EXPLAIN SELECT * FROM eq"))


def _delete_equal(spark: SparkSession, name: str, partition: str, values: dict[str, Any]) -> None:
    """Commit a file of equality deletes to one partition."""
    jvm: Any = spark._jvm
    iceberg = jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    schema = table.schema().select(list(values))
    ids = spark.sparkContext._gateway.new_array(jvm.int, len(values))  # type: ignore[union-attr]
    for at, column in enumerate(values):
        ids[at] = schema.findField(column).fieldId()
    formats = iceberg.FileFormat.PARQUET
    builder = iceberg.data.GenericFileWriterFactory.Builder(table).deleteFileFormat(formats)
    factory = builder.equalityFieldIds(ids).equalityDeleteRowSchema(schema).build()
    key = iceberg.PartitionKey(table.spec(), table.schema())
    full = iceberg.data.GenericRecord.create(table.schema())
    full.setField("k", partition)
    key.partition(full)
    output = iceberg.io.OutputFileFactory.builderFor(table, 1, 1).format(formats).build().newOutputFile(key)
    writer = factory.newEqualityDeleteWriter(output, table.spec(), key)
    row = iceberg.data.GenericRecord.create(schema)
    for column, value in values.items():
        row.setField(column, value)
    writer.write(row)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()


def test_defaults_of_version_three(spark: SparkSession, by_spark: Sql, by_athena: Sql) -> None:
    by_spark("CREATE TABLE lake.both.def USING iceberg TBLPROPERTIES ('format-version' = '3') AS SELECT 1 AS id")
    jvm: Any = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, "lake.both.def")
    types, literals = jvm.org.apache.iceberg.types.Types, jvm.org.apache.iceberg.expressions.Expressions
    update = table.updateSchema()
    update.addColumn("s", types.StringType.get(), literals.lit("none"))
    update.addColumn("n", types.IntegerType.get(), literals.lit(7))
    update.commit()
    by_spark("INSERT INTO lake.both.def VALUES (2, 'two', NULL)")
    expected = by_spark("SELECT id, s, n FROM lake.both.def ORDER BY id")
    assert expected == [["1", "none", "7"], ["2", "two", None]]
    assert by_athena("SELECT id, s, n FROM def ORDER BY id") == expected
    assert by_athena("SELECT id FROM def WHERE n = 7") == [["1"]]


def test_what_athena_writes(by_spark: Sql, by_athena: Sql) -> None:
    by_athena(
        "CREATE TABLE ours (id bigint, at timestamp, k string, tags array<string>) PARTITIONED BY (day(at), bucket(3, k)) "
        "LOCATION 's3://lake/athena/ours/' TBLPROPERTIES ('table_type'='ICEBERG')"
    )
    by_athena(
        "INSERT INTO ours SELECT n, TIMESTAMP '2024-01-01 05:00:00' + n * INTERVAL '7' HOUR, "
        "CASE WHEN n % 4 > 0 THEN 'k' || CAST(n % 4 AS varchar) END, ARRAY['t'] FROM UNNEST(sequence(1, 40)) s (n)"
    )
    by_athena("DELETE FROM ours WHERE id % 5 = 0")
    by_athena("UPDATE ours SET k = 'new', at = at + INTERVAL '1' DAY WHERE id < 4")
    by_athena(
        "MERGE INTO ours t USING (VALUES (1, 'x'), (100, 'y')) s (id, k) ON t.id = s.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, s.k)"
    )
    sql = "SELECT id, k FROM {} ORDER BY id"
    assert by_spark(sql.format("lake.both.ours")) == by_athena(sql.format("ours"))
    filtered = "SELECT count(*) FROM {} WHERE k = 'k2' AND at < TIMESTAMP '2024-01-08 00:00:00'"
    assert by_spark(filtered.format("lake.both.ours")) == by_athena(filtered.format("ours")) != [["0"]]
    by_spark("UPDATE lake.both.ours SET k = 'spark' WHERE id = 2")
    by_spark("CALL lake.system.rewrite_data_files(table => 'both.ours', options => map('rewrite-all', 'true'))")
    assert by_athena("SELECT k FROM ours WHERE id = 2") == [["spark"]]
    by_athena("OPTIMIZE ours REWRITE DATA USING BIN_PACK")
    by_athena("VACUUM ours")
    assert by_spark(sql.format("lake.both.ours")) == by_athena(sql.format("ours"))


def test_formats_that_are_refused_by_name(by_spark: Sql, by_athena: Sql) -> None:
    by_spark("CREATE TABLE lake.both.orc USING iceberg TBLPROPERTIES ('write.format.default' = 'orc') AS SELECT 1 AS id")
    with pytest.raises(AssertionError, match="files of format ORC; only Parquet is supported"):
        by_athena("SELECT * FROM orc")

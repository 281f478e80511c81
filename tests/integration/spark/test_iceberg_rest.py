"""Iceberg's Java REST catalog in Spark SQL: signed for Glue with credentials that the catalog vends, and by bearer token."""

from collections.abc import Callable, Iterator

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.testing.server import RunningServer
from tests.integration.iceberg.world import KEY, SECRET, open_world

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with an S3 endpoint, which have the same users."""
    with open_world(tmp_path_factory.mktemp("iceberg-rest")) as opened:
        yield opened.server


@pytest.fixture(scope="module")
def catalogs(spark: SparkSession, server: RunningServer) -> Iterator[dict[str, str]]:
    """The names of two Spark catalogs over the one endpoint, by how they authenticate."""
    common = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": f"{server.endpoint_url}/iceberg",
        ".warehouse": server.account,
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        # Each statement sees what the other catalog committed before it.
        ".cache-enabled": "false",
        ".header.X-Iceberg-Access-Delegation": "vended-credentials",
    }
    signed = {
        ".rest.sigv4-enabled": "true",
        ".rest.signing-name": "glue",
        ".rest.signing-region": server.region,
        ".rest.access-key-id": KEY,
        ".rest.secret-access-key": SECRET,
    }
    bearer = {
        ".credential": f"{KEY}:{SECRET}",
        ".oauth2-server-uri": f"{server.endpoint_url}/iceberg/v1/oauth/tokens",
        ".scope": "catalog",
    }
    settings = {
        f"spark.sql.catalog.{name}{key}": value
        for name, own in (("signed", signed), ("bearer", bearer))
        for key, value in {**common, **own}.items()
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield {"signed": "signed", "bearer": "bearer"}
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture
def sql(spark: SparkSession, catalogs: dict[str, str]) -> Callable[[str], list[tuple[object, ...]]]:
    return lambda text: [tuple(row) for row in spark.sql(text).collect()]


def test_a_table_s_life_in_spark_sql(sql: Callable[[str], list[tuple[object, ...]]], server: RunningServer) -> None:
    sql("CREATE NAMESPACE signed.shop")
    sql("CREATE TABLE signed.shop.orders (id BIGINT, day STRING) USING iceberg PARTITIONED BY (day)")
    sql("INSERT INTO signed.shop.orders VALUES (1, 'mon'), (2, 'tue')")
    sql("ALTER TABLE signed.shop.orders ADD COLUMN amount DECIMAL(10, 2)")
    sql("INSERT INTO bearer.shop.orders VALUES (3, 'tue', 1.50)")
    assert sql("SELECT id, CAST(amount AS STRING) FROM signed.shop.orders ORDER BY id") == [
        (1, None),
        (2, None),
        (3, "1.50"),
    ]
    sql("DELETE FROM bearer.shop.orders WHERE day = 'mon'")
    assert sql("SELECT count(*) FROM signed.shop.orders") == [(2,)]
    first = sql("SELECT snapshot_id FROM signed.shop.orders.snapshots ORDER BY committed_at")[0][0]
    assert sql(f"SELECT count(*) FROM signed.shop.orders VERSION AS OF {first}") == [(2,)]
    sql("CREATE OR REPLACE TABLE signed.shop.copied USING iceberg AS SELECT id FROM bearer.shop.orders")
    sql("CREATE OR REPLACE TABLE signed.shop.copied USING iceberg AS SELECT id + 1 AS id FROM bearer.shop.orders")
    assert sql("SELECT id FROM bearer.shop.copied ORDER BY id") == [(3,), (4,)]
    sql("ALTER TABLE signed.shop.copied RENAME TO shop.moved")
    assert sorted(row[1] for row in sql("SHOW TABLES IN bearer.shop")) == ["moved", "orders"]  # type: ignore[type-var]
    columns = server.client("glue").get_table(DatabaseName="shop", Name="orders")["Table"]["StorageDescriptor"]["Columns"]
    assert [(column["Name"], column["Type"]) for column in columns] == [
        ("id", "bigint"),
        ("day", "string"),
        ("amount", "decimal(10,2)"),
    ]
    sql("DROP TABLE bearer.shop.moved PURGE")
    sql("DROP TABLE signed.shop.orders")
    sql("DROP NAMESPACE signed.shop")
    with pytest.raises(AnalysisException):
        sql("SELECT * FROM signed.shop.orders")


def test_a_table_of_format_version_three(sql: Callable[[str], list[tuple[object, ...]]]) -> None:
    sql("CREATE NAMESPACE bearer.third")
    modes = "'format-version' = '3', 'write.delete.mode' = 'merge-on-read'"
    sql(f"CREATE TABLE bearer.third.t USING iceberg TBLPROPERTIES ({modes}) AS SELECT 1 AS id")
    sql("INSERT INTO signed.third.t VALUES (2), (3)")
    rows = sql("SELECT id, _row_id FROM bearer.third.t ORDER BY id")
    assert len({row[1] for row in rows}) == 3
    # Deletion vectors, with credentials for the folder of the table alone.
    sql("INSERT INTO signed.third.t SELECT * FROM VALUES (4), (5)")
    sql("DELETE FROM bearer.third.t WHERE id IN (2, 4)")
    assert sql("SELECT id FROM signed.third.t ORDER BY id") == [(1,), (3,), (5,)]
    sql("CREATE TABLE bearer.third.old (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '1')")
    sql("INSERT INTO bearer.third.old VALUES (1)")
    for version in (2, 3):
        sql(f"ALTER TABLE bearer.third.old SET TBLPROPERTIES ('format-version' = '{version}')")
        sql(f"INSERT INTO signed.third.old VALUES ({version})")
    assert sql("SELECT id FROM signed.third.old ORDER BY id") == [(1,), (2,), (3,)]

"""Glue scripts over PostgreSQL, in its own dialect and in Redshift's, and over databases whose driver is not there."""

import gzip
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pg8000.native
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from sqlalchemy.engine import URL, make_url

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame, DynamicFrameCollection
from penstock.client.databases.postgresql import Database
from penstock.errors import EnvironmentProblem, InvalidInput, PenstockError
from penstock.glue.connections import redshift
from penstock.glue.connections.databases import KINDS, Target, database_target
from penstock.glue.jobs.bookmark_store import FileBookmarks
from penstock.glue.once import write_batch_once_to_database
from penstock.glue.options import Options
from penstock.glue.patches.own_readers import driver_class, name_drivers
from penstock.glue.sources.jdbc import driver_of, driver_url
from penstock.testing.postgres import running_postgres
from penstock.testing.server import RunningServer

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TABLES = """
CREATE SCHEMA air;
CREATE TABLE air.flights (id bigint, origin varchar(3), price numeric(10,2), at timestamptz, doc jsonb);
INSERT INTO air.flights SELECT n, CASE WHEN n % 3 = 0 THEN NULL ELSE 'ZRH' END, n / 4.0, '2013-01-01T10:00:00Z', '{"a": 1}'
FROM generate_series(1, 100) n;
"""


class Air:
    """A database with 100 flights; SQL runs with :meth:`run`."""

    def __init__(self, url: str) -> None:
        self._url: URL = make_url(url)
        self.user, self.password = str(self._url.username), str(self._url.password)
        self.database = str(self._url.database)
        self.place = f"jdbc:postgresql://{self._url.host}:{self._url.port}"

    def run(self, sql: str) -> list[list[Any]]:
        connection = pg8000.native.Connection(
            self.user, host=str(self._url.host), port=self._url.port or 0, database=self.database, password=self.password
        )
        try:
            return list(connection.run(sql) or ())
        finally:
            connection.close()

    def options(self, table: str = "air.flights", **more: Any) -> dict[str, Any]:
        url = f"{self.place}/{self.database}"
        return {"url": url, "user": self.user, "password": self.password, "dbtable": table, **more}


@pytest.fixture(scope="module")
def air() -> Iterator[Air]:
    with running_postgres() as server:
        made = Air(server.new_database())
        made.run(TABLES)
        yield made


@pytest.fixture
def glue(spark: SparkSession, penstock_server: RunningServer, monkeypatch: pytest.MonkeyPatch, air: Air) -> GlueContext:
    for name, value in penstock_server.environment().items():
        monkeypatch.setenv(name, value)
    catalog = penstock_server.client("glue")
    there = {connection["Name"] for connection in catalog.get_connections()["ConnectionList"]}
    for name, vendor in (("air", "postgresql"), ("ware", "redshift")):
        if name not in there:
            login = {"JDBC_CONNECTION_URL": f"{air.place.replace('postgresql', vendor)}/postgres"}
            login |= {"USERNAME": air.user, "PASSWORD": air.password}
            made = {"Name": name, "ConnectionType": "JDBC", "ConnectionProperties": login}
            catalog.create_connection(ConnectionInput=made)
    return GlueContext(spark.sparkContext)


def rows(frame: DynamicFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.toDF().collect())


def read(glue: GlueContext, options: dict[str, Any], kind: str = "postgresql") -> DynamicFrame:
    return glue.create_dynamic_frame_from_options(connection_type=kind, connection_options=options)


def test_tables_and_queries_are_read_whole_in_parallel(glue: GlueContext, air: Air) -> None:
    whole = read(glue, air.options())
    assert [(field.name, field.dataType.simpleString()) for field in whole.toDF().schema] == [
        ("id", "bigint"), ("origin", "string"), ("price", "decimal(10,2)"), ("at", "timestamp"), ("doc", "string")
    ]  # fmt: skip
    expected = rows(whole.select_fields(["id"]))
    assert expected == [(number,) for number in range(1, 101)]
    splits: tuple[dict[str, Any], ...] = (
        {"hashfield": "origin", "hashpartitions": "3"},
        {"hashexpression": "id", "hashpartitions": 4},
        {"hashexpression": "id - 50"},
    )
    for split in splits:
        dynamic_frame = read(glue, air.options(**split))
        assert dynamic_frame.getNumPartitions() == int(split.get("hashpartitions", 7))
        assert rows(dynamic_frame.select_fields(["id"])) == expected
    query = "SELECT id FROM air.flights WHERE id < 9 AND"
    by_query: dict[str, Any] = {"sampleQuery": query, "enablePartitioningForSampleQuery": True, "hashexpression": "id"}
    assert rows(read(glue, air.options(**by_query, sampleSize=3))) != []
    assert len(rows(read(glue, air.options(**by_query)))) == 8
    with pytest.raises(EnvironmentProblem, match=r'relation "air.nothing" does not exist') as missing:
        read(glue, air.options("air.nothing"))
    assert air.password not in str(missing.value)


def test_scripts_own_reads_need_no_driver_also_after_those_of_glue(glue: GlueContext, air: Air, spark: SparkSession) -> None:
    name_drivers()
    read(glue, air.options()).count()
    plain = air.options()
    assert spark.read.format("jdbc").options(**plain).load().count() == 100
    one = spark.read.format("jdbc").option("url", plain["url"]).option("user", air.user).option("password", air.password)
    assert one.option("query", "SELECT id FROM air.flights WHERE id < 3").load().count() == 2
    login = {"user": air.user, "password": air.password}
    assert spark.read.jdbc(plain["url"], "air.flights", properties=login).count() == 100
    target = {**plain, "dbtable": "air.own"}
    spark.range(3).write.format("jdbc").options(**target).save()
    spark.range(3, 5).write.jdbc(plain["url"], "air.own", mode="append", properties=login)
    assert air.run("SELECT count(*) FROM air.own") == [[5]]
    assert driver_class(spark, "jdbc:oracle:thin:@h") is None


def _own_driver(jar: str, name: str) -> dict[str, str]:
    return {"customJdbcDriverS3Path": jar, "customJdbcDriverClassName": name}


_NOWHERE = {"url": "jdbc:postgresql://h/d", "dbtable": "t"}


def _driver_jar(folder: Path, name: str) -> None:
    """Write a jar with a driver that no class path has, a subclass of PostgreSQL's (JVM specification, chapter 4)."""

    def text(value: str) -> bytes:
        return b"\x01" + len(value).to_bytes(2) + value.encode()

    constants = [
        *(text(name), b"\x07\0\x01", text("org/postgresql/Driver"), b"\x07\0\x03", text("<init>"), text("()V")),
        *(b"\x0c\0\x05\0\x06", b"\x0a\0\x04\0\x07", text("Code")),
    ]
    body = b"\0\x01\0\x01" + (5).to_bytes(4) + b"\x2a\xb7\0\x08\xb1" + b"\0\0\0\0"
    constructor = b"\0\x01\0\x05\0\x06\0\x01\0\x09" + len(body).to_bytes(4) + body
    head = b"\xca\xfe\xba\xbe\0\0\0\x34" + (len(constants) + 1).to_bytes(2) + b"".join(constants)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "own.jar", "w") as archive:
        archive.writestr(f"{name}.class", head + b"\0\x21\0\x02\0\x04\0\0\0\0\0\x01" + constructor + b"\0\0")


def test_a_driver_is_brought_by_its_file(glue: GlueContext, air: Air, lake: Path, penstock_server: RunningServer) -> None:
    _driver_jar(lake / "lk/drivers", "shop/Driver")
    own = _own_driver("s3://lk/drivers/own.jar", "shop.Driver")
    assert read(glue, air.options(**own)).count() == 100
    assert read(glue, air.options(**own, hashexpression="id")).count() == 100
    target = database_target(glue._session, "postgresql", Options("the postgresql source", air.options(**own)))
    assert driver_of(glue.spark_session, target) == "shop.Driver"
    login = {"JDBC_CONNECTION_URL": f"{air.place}/{air.database}", "USERNAME": air.user, "PASSWORD": air.password}
    login |= {"JDBC_DRIVER_JAR_URI": "s3://lk/drivers/own.jar", "JDBC_DRIVER_CLASS_NAME": "shop.Driver"}
    made = {"Name": "own", "ConnectionType": "JDBC", "ConnectionProperties": login}
    penstock_server.client("glue").create_connection(ConnectionInput=made)
    named = {"useConnectionProperties": True, "connectionName": "own", "dbtable": "air.flights"}
    assert read(glue, named).count() == 100
    target = database_target(glue._session, "postgresql", Options("the postgresql source", named))
    assert target.driver is not None
    assert target.driver.name == "shop.Driver"
    with pytest.raises(InvalidInput, match=r"has no class shop\.Other"):
        read(glue, air.options(**_own_driver("s3://lk/drivers/own.jar", "shop.Other")))
    with pytest.raises(EnvironmentProblem, match=r"s3://lk/drivers/none\.jar cannot be read"):
        read(glue, air.options(**_own_driver("s3://lk/drivers/none.jar", "shop.Driver")))


def test_spark_quotes_names_of_mysql_for_both_of_its_drivers(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    for driver in KINDS["mysql"]:
        url = driver_url(Target(dialect="mysql", url="jdbc:mariadb://h/d"), driver)
        assert jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(url).quoteIdentifier("a b") == "`a b`"


def test_connections_lead_to_databases(glue: GlueContext, air: Air, penstock_server: RunningServer) -> None:
    conf = glue.extract_jdbc_conf("air")
    assert (conf["url"], conf["fullUrl"]) == (air.place, f"{air.place}/postgres")
    assert (conf["user"], conf["password"], conf["vendor"], conf["enforceSSL"]) == (
        air.user, air.password, "postgresql", "false"
    )  # fmt: skip
    by_name = {"useConnectionProperties": "true", "connectionName": "air", "database": air.database}
    for kind in ("postgresql", "JDBC"):
        assert len(rows(read(glue, {**by_name, "dbtable": "air.flights"}, kind))) == 100
    catalog = penstock_server.client("glue")
    catalog.create_database(DatabaseInput={"Name": "databases"})
    about = {"classification": "postgresql", "connectionName": "air", "typeOfData": "table"}
    storage = {"Location": f"{air.database}.air.copied", "Columns": [{"Name": "id", "Type": "bigint"}]}
    table = {"Name": "copied", "Parameters": about, "StorageDescriptor": storage}
    catalog.create_table(DatabaseName="databases", TableInput=table)
    frame = DynamicFrame.fromDF(glue.createDataFrame([(1,), (2,)], "id BIGINT"), glue, "f")
    glue.write_dynamic_frame.from_catalog(frame, database="databases", table_name="copied")
    assert rows(glue.create_dynamic_frame.from_catalog("databases", "copied")) == [(1,), (2,)]
    both = DynamicFrameCollection({"one": frame, "two": frame}, glue)
    assert glue.write_dynamic_frame.from_catalog(both, database="databases", table_name="copied") is both
    assert air.run("SELECT count(*) FROM air.copied") == [[6]]


def test_writes_are_one_transaction_with_their_actions(glue: GlueContext, air: Air) -> None:
    frame = DynamicFrame.fromDF(glue.createDataFrame([(1, "a\tb\\"), (2, None)], "id INT, name STRING"), glue, "f")
    given = {"dbtable": "made", "database": air.database, "postactions": "CREATE TABLE done AS SELECT count(*) FROM made;"}
    for name in ("air", "ware"):
        options = {**given, "preactions": "DROP TABLE IF EXISTS done; DROP TABLE IF EXISTS made", "aws_iam_role": "arn:x"}
        done = glue.write_dynamic_frame.from_jdbc_conf(frame, name, options, redshift_tmp_dir="s3://lk/tmp/")
        assert done is frame
        assert air.run("SELECT * FROM made ORDER BY id") == [[1, "a\tb\\"], [2, None]]
        assert air.run("SELECT * FROM done") == [[2]]
    with pytest.raises(PenstockError, match="done"):
        glue.write_dynamic_frame.from_jdbc_conf(frame, "air", given)
    assert air.run("SELECT count(*) FROM made") == [[2]]
    glue.write_dynamic_frame.from_options(frame, "postgresql", air.options("made", bulkSize="10"))
    assert air.run("SELECT count(*) FROM made") == [[4]]
    by_redshift = {"useConnectionProperties": True, "connectionName": "ware", "database": air.database}
    loaded = read(glue, {**by_redshift, "dbtable": "made", "redshiftTmpDir": "s3://lk/tmp/"}, "redshift")
    assert len(rows(loaded)) == 4
    # A collection is written frame by frame, whatever the method.
    both = DynamicFrameCollection({"one": frame, "two": frame}, glue)
    assert glue.write_from_jdbc_conf(both, "air", {"dbtable": "many", "database": air.database}) is both
    assert glue.getSink("postgresql", **air.options("many")).write(both) is both
    assert air.run("SELECT count(*) FROM many") == [[8]]


def test_moments_are_written_whatever_the_time_zone_of_the_session_is(
    glue: GlueContext, air: Air, restore_zone: None
) -> None:
    spark = glue.spark_session
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    # The second one is in the hour that New York has twice.
    moments = "SELECT timestamp_micros(n) AS at FROM VALUES (1767261600123456), (1793511000000000) AS t (n)"
    frame = spark.sql(moments).withColumn("plain", F.lit("2026-01-01 10:00").cast("timestamp_ntz"))
    for name in ("air", "ware"):
        given = {"dbtable": f"moments_{name}", "database": air.database}
        glue.write_dynamic_frame.from_jdbc_conf(DynamicFrame.fromDF(frame, glue, "f"), name, given)
        written = air.run(f"SELECT extract(epoch FROM at)::text, plain::text FROM moments_{name} ORDER BY at")
        assert written == [
            ["1767261600.123456", "2026-01-01 10:00:00"], ["1793511000.000000", "2026-01-01 10:00:00"]
        ]  # fmt: skip
    assert write_batch_once_to_database(frame, 0, "moments_once", connection="air", checkpoint="s3://lk/z")
    once = {"useConnectionProperties": True, "connectionName": "air", "dbtable": "moments_once"}
    data_frame = read(glue, once).toDF().select(F.unix_micros("at"))
    assert sorted(row[0] for row in data_frame.collect()) == [1767261600123456, 1793511000000000]
    assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"


@pytest.fixture
def restore_zone(spark: SparkSession) -> Iterator[None]:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def test_a_batch_is_written_to_a_database_once(glue: GlueContext, air: Air) -> None:
    def write(number: int, table: str, checkpoint: str = "s3://lk/c/") -> bool:
        batch = glue.createDataFrame([(number,)], "n INT")
        return write_batch_once_to_database(batch, number, table, connection="air", checkpoint=checkpoint)

    assert [write(0, "once_a"), write(0, "once_b"), write(1, "once_a"), write(1, "once_a")] == [True, True, True, False]
    # Another stream counts its own batches.
    assert write(0, "once_a", "s3://lk/other") is True
    place = {"useConnectionProperties": True, "connectionName": "air"}
    assert rows(read(glue, {**place, "dbtable": "once_a"})) == [(0,), (0,), (1,)]
    assert rows(read(glue, {**place, "dbtable": "once_b"})) == [(0,)]


class Copies:
    """What PostgreSQL lacks of Redshift: COPY of a manifest's files of CSV, and UNLOAD. It runs them by its own COPY."""

    def __init__(self, run: Callable[..., list[list[Any]]], lake: Path) -> None:
        self._run, self._lake = run, lake
        self.statements: list[str] = []
        self.rows = 0

    def run(self, database: Database, sql: str, **parameters: Any) -> list[list[Any]]:
        if sql == "SELECT version()":
            return [["PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103"]]
        if sql == "SELECT pg_last_copy_count()":
            return [[self.rows]]
        if copy := re.match(r"COPY (?P<to>.*) FROM '(?P<place>s3:.*)' IAM_ROLE .*NULL AS '(?P<null>[^']*)' GZIP", sql):
            self.statements.append(sql)
            entries = json.loads(self._file(copy["place"]).read_bytes())["entries"]
            files = [gzip.decompress(self._file(entry["url"]).read_bytes()) for entry in entries]
            self.rows = database.copy(f"COPY {copy['to']} FROM STDIN WITH (FORMAT csv, NULL '{copy['null']}')", files)
            return []
        if unload := re.fullmatch(r"UNLOAD \('(?P<query>.*)'\) TO '(?P<place>s3:.*)' IAM_ROLE .*", sql):
            self.statements.append(sql)
            results = self._run(database, unload["query"].replace("''", "'"))
            folder = self._file(unload["place"])
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"id": [row[0] for row in results]}), folder / "0000_part_00.parquet")
            entries = [{"url": unload["place"] + "0000_part_00.parquet"}]
            (folder / "manifest").write_text(json.dumps({"entries": entries}))
            return []
        return self._run(database, sql, **parameters)

    def _file(self, place: str) -> Path:
        return self._lake / place.removeprefix("s3://")


def test_redshift_copies_and_unloads_through_its_folder(
    glue: GlueContext, air: Air, spark_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = Copies(Database.run, spark_lake)

    def run(database: Database, sql: str, **parameters: Any) -> list[list[Any]]:
        return stand_in.run(database, sql, **parameters)

    monkeypatch.setattr(Database, "run", run)
    monkeypatch.setattr(redshift, "is_aws", lambda _: True)
    values = [
        (1, 'a,"b"\n\\n', 2.5, None, datetime(2026, 1, 1, 10)),
        (2, "", None, "NULL", None),
        (3, None, 0.0, "\\N", None),
        (4, "", None, "", None),
    ]
    frame = glue.createDataFrame(values, 'id INT, name STRING, x DOUBLE, `o"k` STRING, at TIMESTAMP_NTZ')
    ware = {"useConnectionProperties": True, "connectionName": "ware", "database": air.database, "dbtable": "loaded"}
    role = "arn:aws:iam::012345678901:role/Loads"
    # As Glue Studio writes a merge: the role under another name, and a transaction of its own around the last actions.
    merge = "BEGIN; DELETE FROM loaded WHERE id = 2; END;"
    given = {**ware, "aws_iam_user": role, "preactions": "DROP TABLE IF EXISTS loaded", "extracopyoptions": "COMPUPDATE OFF"}
    given["redshiftTmpDir"] = "s3://lk/tmp/"
    dynamic = DynamicFrame.fromDF(frame, glue, "f")
    glue.write_dynamic_frame.from_options(dynamic, "redshift", {**given, "postactions": merge})
    assert air.run("SELECT * FROM loaded ORDER BY id") == [list(values[number]) for number in (0, 2, 3)]
    (statement,) = stand_in.statements
    assert statement.startswith('COPY "public"."loaded" ("id", "name", "x", "o""k", "at") FROM \'s3://lk/tmp/')
    assert f"IAM_ROLE '{role}' MANIFEST" in statement
    assert statement.endswith("COMPUPDATE OFF")
    assert list((spark_lake / "lk" / "tmp").iterdir()) == []
    # All of it or nothing: the action that fails takes the rows and the first action back.
    with pytest.raises(PenstockError, match="nowhere"):
        glue.write_dynamic_frame.from_options(dynamic, "redshift", {**given, "postactions": "SELECT * FROM nowhere"})
    assert air.run("SELECT count(*) FROM loaded") == [[3]]
    by_query = {**ware, "aws_iam_role": role, "query": "SELECT id FROM loaded WHERE 'x' <> 'it''s'"}
    unloaded = glue.create_dynamic_frame.from_options("redshift", {**by_query, "redshiftTmpDir": "s3a://lk/tmp"})
    assert rows(unloaded) == [(1,), (3,), (4,)]
    query = "SELECT * FROM (SELECT id FROM loaded WHERE ''x'' <> ''it''''s'') penstock_rows"
    assert stand_in.statements[-1].startswith(f"UNLOAD ('{query}') TO 's3://lk/tmp/")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("mysql", {"url": "jdbc:mysql://h/d", "dbtable": "t"}, "no JDBC driver of mysql.*mysql-connector-j.*--extra-jars"),
        ("jdbc", {"url": "jdbc:mysql://h/d", "dbtable": "t"}, "no JDBC driver of mysql.*--extra-jars"),
        ("oracle", {"url": "jdbc:oracle:thin://@h:1521/d", "dbtable": "t"}, "no JDBC driver of oracle"),
        (
            "sqlserver",
            {"url": "jdbc:sqlserver://h;databaseName=d", "dbtable": "t"},
            "no JDBC driver of sqlserver.*mssql-jdbc",
        ),
        ("postgresql", {"url": "jdbc:mysql://h/d", "dbtable": "t"}, "is of mysql, and connection_type is postgresql"),
        ("postgresql", {"url": "jdbc:postgresql://h/d"}, "needs dbtable"),
        ("postgresql", {"dbtable": "t"}, "needs connectionName or url"),
        ("postgresql", {"connectionName": "air", "dbtable": "t"}, "need each other"),
        ("postgresql", {**_NOWHERE, "customJdbcDriverS3Path": "s3://x/y.jar"}, "need each other"),
        (
            "postgresql",
            {**_NOWHERE, **_own_driver("/tmp/y.jar", "a.B")},
            r"Write the driver's file in S3: s3://BUCKET/KEY.jar",
        ),
        ("postgresql", {**_NOWHERE, **_own_driver("s3://x/y.jar", "a B")}, "is not a class name"),
        ("redshift", {"url": "jdbc:redshift://h/d", "dbtable": "t", "DbUser": "x"}, "DbUser of the redshift source"),
        ("redshift", {"url": "jdbc:redshift://h/d", "dbtable": "t", "tempdir_region": "here"}, "tempdir_region is 'here'"),
        ("redshift", {"url": "jdbc:redshift://h/d", "dbtable": "t", "extracopyoptions": "X"}, "and these are inserted"),
        (
            "redshift",
            {"url": "jdbc:redshift://h/d", "dbtable": "t", "customSchema": "x INT"},
            "customSchema of the redshift",
        ),
    ],
)
def test_what_is_not_served_is_refused_by_name(glue: GlueContext, kind: str, options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read(glue, options, kind)


def test_rows_are_read_once_by_bookmark_keys(glue: GlueContext, air: Air, tmp_path: Path) -> None:
    air.run("CREATE TABLE marked (day date, n int)")
    air.run("INSERT INTO marked VALUES ('2026-01-01', 1), ('2026-01-01', 2), ('2026-01-02', 1), (NULL, 9)")

    def run(run_id: str, *, commit: bool = True, **bounds: str) -> list[tuple[str, int]]:
        fresh = GlueContext(glue.spark_session.sparkContext)
        bookmarks = fresh._session.bookmarks
        bookmarks.begin(FileBookmarks(tmp_path, "marks", run_id), **bounds, paused=bool(bounds))
        options = air.options("marked", jobBookmarkKeys=["day", "n"], jobBookmarksKeysSortOrder="asc")
        frame = fresh.create_dynamic_frame.from_options("postgresql", options, transformation_ctx="x")
        results = sorted((str(row.day), row.n) for row in frame.toDF().collect())
        if commit:
            bookmarks.commit()
        return results

    every = [("2026-01-01", 1), ("2026-01-01", 2), ("2026-01-02", 1)]
    assert run("r0", commit=False) == every
    assert run("r1") == every
    assert run("r2") == []
    air.run("INSERT INTO marked VALUES ('2026-01-01', 1), ('2026-01-02', 2), ('2026-01-03', 0)")
    assert run("r3") == [("2026-01-02", 2), ("2026-01-03", 0)]
    air.run("INSERT INTO marked VALUES ('2026-01-04', 0)")
    assert run("r4", after="r1", upto="r3") == [("2026-01-02", 2), ("2026-01-03", 0)]
    assert run("r5") == [("2026-01-04", 0)]
    fresh = GlueContext(glue.spark_session.sparkContext)
    fresh._session.bookmarks.begin(FileBookmarks(tmp_path, "other", "r1"))
    with pytest.raises(InvalidInput, match="jobBookmarkKeys has nope, which is not a column"):
        fresh.create_dynamic_frame.from_options(
            "postgresql", air.options("marked", jobBookmarkKeys="nope"), transformation_ctx="x"
        )

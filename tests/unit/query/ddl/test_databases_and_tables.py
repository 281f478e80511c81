"""Databases and Hive's tables by DDL: what the catalog has afterwards, and how refusals are worded."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from penstock.catalog.model import Column, SerDeInfo
from penstock.catalog.service import CatalogService
from penstock.errors import AccessDenied, NotFound
from penstock.lakeformation.decisions import TableAccess
from tests.unit.query.lake_of_flights import Ask, Lake, Rows

CARRIERS = "CREATE EXTERNAL TABLE carriers (carrier string, name string) STORED AS PARQUET LOCATION 's3://lake/airlines/'"
TASK = "FAILED: Execution Error, return code 1 from org.apache.hadoop.hive.ql.exec.DDLTask."


class Access:
    """Refuses the operations of ``refused`` on the named tables, and shows all but the ``hidden`` ones."""

    def __init__(self, *refused: str, hidden: str = "") -> None:
        self.refused = refused
        self.hidden = hidden

    def check(self, operation: str, request: Mapping[str, Any], /) -> None:
        if f"{operation} {request.get('Name', '')}".strip() in self.refused:
            raise AccessDenied(f"User: ana is not authorized to perform: glue:{operation}")

    def is_visible(self, _operation: str, item: Mapping[str, Any], /) -> bool:
        return str(item["Name"]) != self.hidden

    def hides_columns(self) -> bool:
        return False

    def visible_columns(self, _database: str, _table: str, _columns: Sequence[str], /) -> None: ...

    def check_files(self, _action: str, _uris: Any, _table: Any = None, /) -> Sequence[str]:
        return ["s3://"]

    def created(self, _database: str, _table: str | None, /) -> None: ...

    def check_writing(self, _database: str, _table: str, _permissions: Sequence[str], /) -> None: ...

    def reading(self, _database: str, _table: str, _columns: Sequence[str], /) -> TableAccess | None:
        return None


def test_databases_are_created_changed_and_dropped(catalog: CatalogService, done: Ask, refused: Ask) -> None:
    created = done("CREATE DATABASE Sales COMMENT 'what we sell' LOCATION 's3://lake/sales/' WITH DBPROPERTIES ('a'='1')")
    assert (created.type, created.substatement, created.columns) == ("DDL", "CREATE_DATABASE", ())
    assert created.result_uri.endswith(".txt")
    made = catalog.database("sales")
    assert (made.description, made.location_uri, made.parameters) == ("what we sell", "s3://lake/sales/", {"a": "1"})
    done("CREATE SCHEMA IF NOT EXISTS sales")
    assert refused("CREATE SCHEMA sales").reason == f"{TASK} AlreadyExistsException(message:Database sales already exists)"
    done("ALTER DATABASE sales SET DBPROPERTIES ('b'='2')")
    changed = catalog.database("sales")
    assert (changed.description, changed.parameters) == ("what we sell", {"a": "1", "b": "2"})
    done("DROP DATABASE sales")
    with pytest.raises(NotFound):
        catalog.database("sales")
    done("DROP SCHEMA IF EXISTS sales")
    assert refused("DROP DATABASE sales").reason == "FAILED: SemanticException [Error 10072]: Database does not exist: sales"


def test_only_cascade_drops_a_database_with_tables(catalog: CatalogService, done: Ask, refused: Ask) -> None:
    done(CARRIERS)
    reason = refused("DROP DATABASE db").reason
    assert reason is not None
    assert reason.startswith(
        f"{TASK} InvalidOperationException(message:Database db is not empty. One or more tables exist.)"
    )
    denied = refused("DROP DATABASE db CASCADE", catalog_access=Access("DeleteTable carriers", hidden="carriers"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:DeleteTable"
    assert catalog.table("db", "carriers").name == "carriers"
    done("DROP DATABASE db CASCADE")
    assert catalog.databases() == []


def test_a_created_table_is_read_and_dropped_while_its_files_stay(
    catalog: CatalogService, lake: Lake, rows: Rows, done: Ask, refused: Ask
) -> None:
    assert done(CARRIERS).substatement == "CREATE_TABLE"
    assert rows("SELECT name FROM db.carriers WHERE carrier = 'UA'") == [["United"]]
    assert refused(CARRIERS).reason == f"{TASK} AlreadyExistsException(message:Table carriers already exists)"
    done(CARRIERS.replace("TABLE", "TABLE IF NOT EXISTS"))
    done("DROP TABLE `db`.`carriers`")
    assert refused("DROP TABLE carriers").reason == "FAILED: SemanticException [Error 10001]: Table not found db.carriers"
    done("DROP TABLE IF EXISTS carriers")
    assert catalog.tables("db") == []
    assert (lake.folder.root / "lake/airlines/part-0.parquet").is_file()


def test_the_catalog_has_what_athena_writes(catalog: CatalogService, done: Ask) -> None:
    done(
        """CREATE EXTERNAL TABLE `logs` (ip string COMMENT 'who', sizes array<int>)
        COMMENT 'visits' PARTITIONED BY (day date)
        CLUSTERED BY (ip) SORTED BY (ip DESC) INTO 4 BUCKETS
        ROW FORMAT DELIMITED FIELDS TERMINATED BY ',' NULL DEFINED AS '-'
        LOCATION 's3://lake/logs' TBLPROPERTIES ('skip.header.line.count'='1')"""
    )
    table = catalog.table("db", "logs")
    assert table.table_type == "EXTERNAL_TABLE"
    parameters = dict(table.parameters)
    assert parameters.pop("transient_lastDdlTime").isdigit()
    assert parameters == {"EXTERNAL": "TRUE", "comment": "visits", "skip.header.line.count": "1"}
    storage = table.storage
    assert list(storage.columns) == [
        Column(name="ip", type="string", comment="who"), Column(name="sizes", type="array<int>"),
    ]  # fmt: skip
    assert list(table.partition_keys) == [Column(name="day", type="date")]
    assert storage.location == "s3://lake/logs"
    assert storage.input_format == "org.apache.hadoop.mapred.TextInputFormat"
    assert storage.output_format == "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
    assert storage.serde_info == SerDeInfo(
        serialization_library="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        parameters={"serialization.format": ",", "field.delim": ",", "serialization.null.format": "-"},
    )
    assert json.loads(json.dumps(storage.extra)) == {
        "NumberOfBuckets": 4,
        "BucketColumns": ["ip"],
        "SortColumns": [{"Column": "ip", "SortOrder": 0}],
        "StoredAsSubDirectories": False,
    }


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE TABLE t (a int) LOCATION 's3://lake/t'", "FAILED: SemanticException t would be a managed table"),
        ("CREATE EXTERNAL TABLE t (a int)", "FAILED: SemanticException No location was specified for table."),
        ("CREATE EXTERNAL TABLE t (a int) LOCATION '/tmp'", "FAILED: SemanticException '/tmp'"),
        (
            "CREATE EXTERNAL TABLE t (a int) PARTITIONED BY (a int) LOCATION 's3://lake/t'",
            "FAILED: SemanticException [Error 10035]: Column repeated in partitioning columns",
        ),
        (
            "CREATE EXTERNAL TABLE t (a int) STORED AS EXCEL LOCATION 's3://lake/t'",
            "FAILED: SemanticException Unrecognized file format in STORED AS clause: 'EXCEL'",
        ),
        (
            "CREATE EXTERNAL TABLE no_db.t (a int) LOCATION 's3://lake/t'",
            "FAILED: SemanticException [Error 10072]: Database does not exist: no_db",
        ),
        ("ALTER TABLE carriers RENAME TO c", "NOT_SUPPORTED: ALTER TABLE RENAME is only for Iceberg tables."),
        ("ALTER TABLE carriers DROP COLUMN name", "NOT_SUPPORTED: ALTER TABLE DROP COLUMN is only for Iceberg tables."),
        (
            "ALTER TABLE carriers ADD COLUMNS (name int)",
            f"{TASK} InvalidOperationException(message:Duplicate column name: name)",
        ),
        (
            "ALTER TABLE carriers CHANGE nothing x int",
            "FAILED: SemanticException [Error 10002]: Invalid column reference nothing",
        ),
        ("ALTER TABLE carriers ADD PARTITION (a=1)", "FAILED: SemanticException Table is not partitioned: db.carriers"),
        (
            "ALTER TABLE carriers SET TBLPROPERTIES ('table_type'='ICEBERG')",
            "FAILED: SemanticException The property table_type",
        ),
    ],
)
def test_refusals_are_worded_as_athenas(done: Ask, refused: Ask, catalog: CatalogService, sql: str, reason: str) -> None:
    done(CARRIERS)
    actual = refused(sql).reason
    assert actual is not None
    assert actual.startswith(reason)
    assert [table.name for table in catalog.tables("db")] == ["carriers"]


def test_columns_and_properties_are_changed(catalog: CatalogService, rows: Rows, done: Ask) -> None:
    done(CARRIERS)
    done("ALTER TABLE carriers ADD COLUMNS (founded int COMMENT 'year')")
    assert rows("SELECT founded FROM db.carriers LIMIT 1") == [[None]]
    done("ALTER TABLE carriers CHANGE COLUMN founded opened bigint FIRST")
    done("ALTER TABLE carriers CHANGE name name string COMMENT 'full' AFTER opened")
    columns = catalog.table("db", "carriers").storage.columns
    assert list(columns) == [
        Column(name="opened", type="bigint", comment="year"),
        Column(name="name", type="string", comment="full"),
        Column(name="carrier", type="string"),
    ]
    done("ALTER TABLE carriers REPLACE COLUMNS (carrier string)")
    assert [column.name for column in catalog.table("db", "carriers").storage.columns] == ["carrier"]
    done("ALTER TABLE carriers SET TBLPROPERTIES ('classification'='parquet', 'x'='1')")
    done("ALTER TABLE carriers UNSET TBLPROPERTIES ('x')")
    assert catalog.table("db", "carriers").parameters["classification"] == "parquet"
    assert "x" not in catalog.table("db", "carriers").parameters
    done("ALTER TABLE carriers SET LOCATION 's3://lake/elsewhere/'")
    assert rows("SELECT count(*) FROM db.carriers") == [["0"]]


def test_changes_are_authorized_as_glues_operations(done: Ask, refused: Ask) -> None:
    denied = refused(CARRIERS, catalog_access=Access("CreateTable"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:CreateTable"
    done(CARRIERS)
    denied = refused("ALTER TABLE carriers ADD COLUMNS (x int)", catalog_access=Access("UpdateTable"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:UpdateTable"
    denied = refused("DROP TABLE carriers", catalog_access=Access("DeleteTable carriers"))
    assert denied.reason == "PERMISSION_DENIED: User: ana is not authorized to perform: glue:DeleteTable"


FLIGHTS = """CREATE EXTERNAL TABLE flights (carrier string, flight int) PARTITIONED BY (year int, month int)
STORED AS PARQUET LOCATION 's3://lake/flights/'"""


def values(catalog: CatalogService) -> list[list[str]]:
    return [list(partition.values) for partition in catalog.partitions("db", "flights")]


def test_repair_adds_the_partitions_of_the_lake_and_reports_them(
    catalog: CatalogService, lake: Lake, rows: Rows, done: Ask
) -> None:
    done(FLIGHTS)
    done("ALTER TABLE flights ADD PARTITION (year=1999, month=1)")
    (lake.folder.root / "lake/flights/_tmp/month=1").mkdir(parents=True)
    (lake.folder.root / "lake/flights/Year=2013/month=1").mkdir(parents=True)
    report = rows("MSCK REPAIR TABLE flights", database="db")
    assert report[0][0] is not None
    assert report[0][0].startswith("Partitions not in metastore:")
    assert report[1] == ["Partitions missing from filesystem:", "flights:year=1999/month=1"]
    assert ["Repair: Added partition to metastore flights:year=2013/month=12"] in report
    assert len(report) == 14
    assert len(values(catalog)) == 13
    assert rows("SELECT count(*), min(flight) FROM db.flights WHERE month = 12") == [["10", "1200"]]
    assert [row[0][:18] for row in rows("MSCK REPAIR TABLE flights", database="db") if row[0]] == ["Partitions missing"]


def test_partitions_are_added_dropped_renamed_and_moved(
    catalog: CatalogService, lake: Lake, rows: Rows, done: Ask, refused: Ask
) -> None:
    done(FLIGHTS)
    done("ALTER TABLE flights ADD PARTITION (month=1, year='2013') PARTITION (year=2013, month=2) LOCATION 's3://lake/two/'")
    assert values(catalog) == [["2013", "1"], ["2013", "2"]]
    parts = catalog.partitions("db", "flights")
    assert [part.storage.location for part in parts] == ["s3://lake/flights/year=2013/month=1", "s3://lake/two/"]
    assert parts[0].storage.serde_info == catalog.table("db", "flights").storage.serde_info
    twice = "ALTER TABLE flights ADD PARTITION (year=2013, month=3) PARTITION (year=2013, month=2)"
    reason = refused(twice).reason
    assert reason is not None
    assert reason.startswith(f"{TASK} AlreadyExistsException(message:Partition already exists: year=2013/month=2)")
    assert len(values(catalog)) == 2
    done(twice.replace("ADD", "ADD IF NOT EXISTS"))
    assert len(values(catalog)) == 3
    done("ALTER TABLE flights PARTITION (year=2013, month=3) RENAME TO PARTITION (year=2014, month=3)")
    assert ["2014", "3"] in values(catalog)
    done("ALTER TABLE flights PARTITION (year=2014, month=3) SET LOCATION 's3://lake/three/'")
    lake.write("three/a.parquet", pa.table({"carrier": ["XX"], "flight": pa.array([7], pa.int32())}))
    assert rows("SELECT carrier FROM db.flights WHERE year = 2014") == [["XX"]]
    assert refused("ALTER TABLE flights DROP PARTITION (year=2020)").reason == (
        "FAILED: SemanticException [Error 10006]: Partition not found (year = '2020')"
    )
    done("ALTER TABLE flights DROP IF EXISTS PARTITION (year=2020)")
    done("ALTER TABLE flights DROP PARTITION (year=2013, month<2), PARTITION (year > 2013)")
    assert values(catalog) == [["2013", "2"]]
    reason = refused("ALTER TABLE flights ADD PARTITION (year=1)").reason
    assert reason is not None
    assert reason.startswith(
        "FAILED: SemanticException Partition spec of db.flights names year. Name each of year, month once."
    )

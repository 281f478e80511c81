"""CREATE TABLE AS, UNLOAD and INSERT INTO, in every format, and what is refused."""

from pathlib import Path

import fastavro
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from penstock.catalog.service import CatalogService
from penstock.query.service import QueryService
from tests.unit.query.lake_of_flights import Ask, Lake, Rows

EVERYTHING = """
SELECT true AS b, CAST(1 AS tinyint) AS t, CAST(2 AS smallint) AS s, 3 AS i, 9007199254740993 AS l, CAST(0.1 AS real) AS f,
  0.1E0 AS d, CAST(1.50 AS decimal(10,2)) AS m, 'hé "x" \\' AS v, DATE '2024-02-29' AS y,
  TIMESTAMP '2024-02-29 23:59:59.123' AS z, ARRAY[1, NULL] AS a, MAP(ARRAY['k'], ARRAY[5]) AS p,
  CAST(ROW(1, 'q') AS ROW(x integer, y varchar)) AS r
UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
"""
READ = [
    "true", "1", "2", "3", "9007199254740993", "0.1", "0.1", "1.50", 'hé "x" \\', "2024-02-29", "2024-02-29 23:59:59.123",
    "[1, null]", "{k=5}", "{x=1, y=q}",
]  # fmt: skip
TYPES = {
    "b": "boolean", "t": "tinyint", "s": "smallint", "i": "int", "l": "bigint", "f": "float", "d": "double",
    "m": "decimal(10,2)", "v": "string", "y": "date", "z": "timestamp", "a": "array<int>", "p": "map<string,int>",
    "r": "struct<x:int,y:string>",
}  # fmt: skip


def files(lake: Lake, folder: str) -> list[Path]:
    """Return the data files below a folder of the bucket."""
    root = lake.folder.root / "lake" / folder
    paths = (path for path in root.rglob("*") if path.is_file())
    return sorted(path for path in paths if not any(part[0] in "_." for part in path.relative_to(root).parts))


@pytest.mark.parametrize(
    ("properties", "suffix"),
    [
        ("format='PARQUET'", ".gz.parquet"),
        ("parquet_compression='SNAPPY'", ".snappy.parquet"),
        ("format='ORC', write_compression='ZSTD'", ".zstd.orc"),
        ("format='AVRO'", ".deflate.avro"),
        ("format='JSON', write_compression='ZSTD'", ".json.zst"),
        ("write_compression='ZSTD', compression_level=5", ".zstd.parquet"),
        ("format='TEXTFILE'", ".txt.gz"),
        ("format='TEXTFILE', write_compression='NONE', field_delimiter='|'", ".txt"),
    ],
)
def test_a_table_of_each_format_reads_back(lake: Lake, done: Ask, rows: Rows, properties: str, suffix: str) -> None:
    made = done(f"CREATE TABLE t WITH ({properties}) AS {EVERYTHING}")
    assert made.statistics.update_count == 2
    written = files(lake, f"athena-results/tables/{made.id}")
    assert [path.name.endswith(suffix) for path in written] == [True]
    assert rows("SELECT * FROM t ORDER BY i NULLS LAST", database="db") == [READ, [None] * len(READ)]


def test_the_catalog_gets_hives_types_and_the_default_place(done: Ask, catalog: CatalogService) -> None:
    made = done(f"CREATE TABLE t AS {EVERYTHING}")
    table = catalog.table("db", "t")
    assert {column.name: column.type for column in table.storage.columns} == TYPES
    assert table.storage.location == f"s3://lake/athena-results/tables/{made.id}/"


def test_the_files_are_those_of_their_format(lake: Lake, done: Ask) -> None:
    for form in ("PARQUET", "ORC", "AVRO"):
        done(f"CREATE TABLE {form} WITH (format='{form}', external_location='s3://lake/{form}/') AS SELECT 1 x, 'a' s")
    assert pq.read_table(files(lake, "PARQUET")[0]).to_pylist() == [{"x": 1, "s": "a"}]
    assert orc.read_table(files(lake, "ORC")[0]).to_pylist() == [{"x": 1, "s": "a"}]
    with files(lake, "AVRO")[0].open("rb") as file:
        assert list(fastavro.reader(file)) == [{"x": 1, "s": "a"}]


def test_partitions_are_registered_and_named_as_hive_names_them(
    lake: Lake, done: Ask, rows: Rows, catalog: CatalogService
) -> None:
    made = done(
        "CREATE TABLE t WITH (external_location='s3://lake/t', partitioned_by=ARRAY['day', 'kind']) AS "
        "SELECT x, CAST(date_add('day', x % 2, DATE '2024-01-01') AS date) AS day, CASE WHEN x < 3 THEN 'a/b' END AS kind "
        "FROM UNNEST(sequence(1, 6)) AS u(x)"
    )
    assert made.statistics.update_count == 6
    locations = {tuple(partition.values): partition.storage.location for partition in catalog.partitions("db", "t")}
    assert locations == {
        ("2024-01-01", "a/b"): "s3://lake/t/day=2024-01-01/kind=a%2Fb",
        ("2024-01-02", "a/b"): "s3://lake/t/day=2024-01-02/kind=a%2Fb",
        ("2024-01-01", "__HIVE_DEFAULT_PARTITION__"): "s3://lake/t/day=2024-01-01/kind=__HIVE_DEFAULT_PARTITION__",
        ("2024-01-02", "__HIVE_DEFAULT_PARTITION__"): "s3://lake/t/day=2024-01-02/kind=__HIVE_DEFAULT_PARTITION__",
    }
    assert rows("SELECT x, day, kind FROM t WHERE kind IS NOT NULL ORDER BY x", database="db") == [
        ["1", "2024-01-02", "a/b"],
        ["2", "2024-01-01", "a/b"],
    ]
    assert not (lake.folder.root / "lake/t/_penstock").exists()


def test_the_manifest_names_the_files(done: Ask, service: QueryService, lake: Lake) -> None:
    made = done("CREATE TABLE t WITH (external_location='s3://lake/t/') AS SELECT 1 AS x")
    assert made.statistics.manifest_uri is not None
    text = lake.folder.path(made.statistics.manifest_uri).read_text()
    assert text.splitlines() == [lake.folder.uri(file) for file in files(lake, "t")]
    service.close()  # the journal goes after the state is stored
    assert not list((lake.folder.root / "lake/athena-results").glob("*.journal"))


def test_sketches_are_stored_as_bytes_and_merged_by_later_statements(done: Ask, rows: Rows) -> None:
    done(
        "CREATE TABLE t AS SELECT x % 3 AS k, CAST(approx_set(x) AS varbinary) AS h, "
        "CAST(tdigest_agg(x) AS varbinary) AS d, CAST(qdigest_agg(x) AS varbinary) AS q "
        "FROM UNNEST(sequence(1, 300)) AS u(x) GROUP BY x % 3"
    )
    done(
        "INSERT INTO t SELECT 9, CAST(approx_set(x) AS varbinary), CAST(tdigest_agg(x) AS varbinary), "
        "CAST(qdigest_agg(x) AS varbinary) FROM UNNEST(sequence(251, 400)) AS u(x)"
    )
    done("CREATE VIEW v AS SELECT k, CAST(h AS HyperLogLog) h, CAST(d AS tdigest) d, CAST(q AS qdigest(bigint)) q FROM t")
    asked = (
        "cardinality(merge(h)), value_at_quantile(merge(d), 0.5) BETWEEN 223 AND 228, value_at_quantile(merge(q), 0.5) FROM"
    )
    for source in ("t", "v"):
        casts = f"SELECT CAST(h AS HyperLogLog) h, CAST(d AS tdigest) d, CAST(q AS qdigest(bigint)) q FROM {source}"
        assert rows(f"SELECT {asked} ({casts})", database="db") == [["400", "true", "226"]]


def test_no_data_makes_an_empty_table(done: Ask, rows: Rows, lake: Lake) -> None:
    assert done("CREATE TABLE t AS SELECT 1 AS x, 'a' AS y WITH NO DATA").statistics.update_count == 0
    assert rows("SELECT * FROM t", database="db") == []
    done("CREATE TABLE u AS SELECT * FROM t")
    assert rows("SELECT count(*) FROM u", database="db") == [["0"]]


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("CREATE TABLE t WITH (table_type='DELTA') AS SELECT 1 x", "NOT_SUPPORTED"),
        ("CREATE TABLE t WITH (format='ION') AS SELECT 1 x", "INVALID_TABLE_PROPERTY: Format 'ION' is not written"),
        ("CREATE TABLE t WITH (format='ORC', write_compression='LZO') AS SELECT 1 x", "INVALID_TABLE_PROPERTY"),
        ("CREATE TABLE t WITH (compression_level=3) AS SELECT 1 x", "INVALID_TABLE_PROPERTY"),
        ("CREATE TABLE t WITH (nonsense=3) AS SELECT 1 x", "INVALID_TABLE_PROPERTY: Table property 'nonsense'"),
        ("CREATE TABLE t WITH (partitioned_by=ARRAY['x']) AS SELECT 1 x, 2 y", "HIVE_COLUMN_ORDER_MISMATCH"),
        ("CREATE TABLE t WITH (partitioned_by=ARRAY['z']) AS SELECT 1 x, 2 y", "INVALID_TABLE_PROPERTY"),
        ("CREATE TABLE t AS SELECT 1, 2 y", "MISSING_COLUMN_NAME"),
        ("CREATE TABLE t AS SELECT 1 x, 2 X", "DUPLICATE_COLUMN_NAME"),
        ("CREATE TABLE t AS SELECT NULL AS x", "NOT_SUPPORTED: Column 'x' has type unknown"),
        ("CREATE TABLE t AS SELECT ST_Point(1, 2) AS x", "NOT_SUPPORTED: Column 'x' has type geometry"),
        ("CREATE TABLE t AS SELECT IPADDRESS '::1' AS x", "NOT_SUPPORTED: Column 'x' has type ipaddress"),
        ("CREATE TABLE t AS SELECT current_timestamp AS x", "NOT_SUPPORTED: Column 'x' has type timestamp with time zone"),
        ("CREATE TABLE t AS SELECT approx_set(1) AS x", "NOT_SUPPORTED: Column 'x' has type HyperLogLog"),
        ("CREATE TABLE t WITH (external_location='s3://lake/flights/') AS SELECT 1 x", "HIVE_PATH_ALREADY_EXISTS"),
        ("CREATE TABLE t WITH (external_location='s3://nowhere/flights/') AS SELECT 1 x", "HIVE_FILESYSTEM_ERROR"),
        ("CREATE TABLE t WITH (format='TEXTFILE', field_delimiter=',') AS SELECT 'a,b' x", "NOT_SUPPORTED: The text 'a,b'"),
        ("CREATE TABLE nowhere.t AS SELECT 1 x", "FAILED: SemanticException"),
        ("UNLOAD (SELECT 1 x) TO 's3://lake/flights/' WITH (format='PARQUET')", "HIVE_PATH_ALREADY_EXISTS"),
        ("UNLOAD (SELECT 1 x) TO 's3://lake/u/' WITH (compression='GZIP')", "INVALID_TABLE_PROPERTY: Property 'format'"),
        (
            "CREATE TABLE t WITH (partitioned_by=ARRAY['p']) AS SELECT 1 AS x, p FROM UNNEST(sequence(1, 101)) AS u(p)",
            "HIVE_TOO_MANY_OPEN_PARTITIONS",
        ),
        ("CREATE TABLE t AS SELECT 1/(x - 3) AS y FROM UNNEST(sequence(1, 6)) AS u(x)", "DIVISION_BY_ZERO"),
    ],
)  # fmt: skip
def test_refused_statements_leave_no_files(refused: Ask, lake: Lake, catalog: CatalogService, sql: str, reason: str) -> None:
    before = set((lake.folder.root / "lake").rglob("*.*"))
    failed = refused(sql)
    assert (failed.reason or "").startswith(reason), failed.reason
    assert set((lake.folder.root / "lake").rglob("*.*")) == before
    assert catalog.tables("db") == []


def test_a_table_that_exists_is_not_replaced(done: Ask, refused: Ask, rows: Rows) -> None:
    done("CREATE TABLE t AS SELECT 1 AS x")
    assert (refused("CREATE TABLE t AS SELECT 2 AS x").reason or "").startswith("TABLE_ALREADY_EXISTS")
    done("CREATE TABLE IF NOT EXISTS t AS SELECT 2 AS x")
    assert rows("SELECT x FROM t", database="db") == [["1"]]


@pytest.mark.parametrize("form", ["PARQUET", "ORC", "AVRO", "JSON", "TEXTFILE"])
def test_unload_writes_files_and_no_table(lake: Lake, done: Ask, catalog: CatalogService, form: str) -> None:
    made = done(
        f"UNLOAD (SELECT x, x % 2 AS part FROM UNNEST(sequence(1, 4)) AS u(x)) TO 's3://lake/u/' "
        f"WITH (format='{form}', compression='NONE', partitioned_by=ARRAY['part'])"
    )
    assert made.statistics.update_count == 4
    assert sorted({file.parent.name for file in files(lake, "u")}) == ["part=0", "part=1"]
    assert catalog.tables("db") == []
    if form == "TEXTFILE":
        assert sorted(file.read_text() for file in files(lake, "u")) == ["1\n3\n", "2\n4\n"]
    if form == "JSON":
        assert sorted(file.read_text() for file in files(lake, "u")) == ['{"x":1}\n{"x":3}\n', '{"x":2}\n{"x":4}\n']

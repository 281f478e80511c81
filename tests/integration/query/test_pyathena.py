"""PyAthena's cursors and its SQLAlchemy dialect, which Superset uses, over results in the S3 endpoint."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote_plus

import pyarrow.fs
import pytest
from pyathena import aio_connect, connect
from pyathena.arrow.async_cursor import AsyncArrowCursor
from pyathena.arrow.cursor import ArrowCursor
from pyathena.async_cursor import AsyncCursor, AsyncDictCursor
from pyathena.cursor import DictCursor
from pyathena.pandas.async_cursor import AsyncPandasCursor
from pyathena.pandas.cursor import PandasCursor
from pyathena.polars.cursor import PolarsCursor
from pyathena.s3fs.cursor import S3FSCursor
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, func, inspect, select, text

from tests.integration.query.conftest import Lakehouse

CARRIERS = "SELECT carrier, flights FROM carriers ORDER BY flights"
ROWS = [(None, 1), ("AA", 32729), ("UA", 58665)]
COLUMNS = {"carrier": [None, "AA", "UA"], "flights": [1, 32729, 58665]}


@pytest.fixture(autouse=True)
def environment(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lakehouse.environment().items():
        monkeypatch.setenv(name, value)
    # Arrow's own S3 client, which reads no AWS_ENDPOINT_URL (apache/arrow issue 49643), and gets no endpoint from PyAthena.
    endpoint = partial(pyarrow.fs.S3FileSystem, endpoint_override=lakehouse.gateway.endpoint_url)
    monkeypatch.setattr(pyarrow.fs, "S3FileSystem", endpoint)


def opened(cursor: Any = None, **settings: Any) -> Any:
    """Return a new cursor."""
    place: dict[str, Any] = {"s3_staging_dir": "s3://lake/staging/", "schema_name": "db", "poll_interval": 0.02}
    return connect(**place, **({} if cursor is None else {"cursor_class": cursor})).cursor(**settings)


@pytest.mark.parametrize("kind", [None, S3FSCursor])
def test_rows(kind: Any) -> None:
    cursor = opened(kind)
    assert cursor.execute(CARRIERS).fetchmany(2) == ROWS[:2]
    assert cursor.fetchall() == ROWS[2:]
    assert [item[:2] for item in cursor.description] == [("carrier", "varchar"), ("flights", "bigint")]


def test_rows_as_dictionaries() -> None:
    result = opened(DictCursor).execute(CARRIERS).fetchall()
    assert result == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def test_data_frames() -> None:
    frame = opened(PandasCursor).execute(CARRIERS).as_pandas()
    assert frame["flights"].tolist() == COLUMNS["flights"]
    assert frame["carrier"].isna().tolist() == [True, False, False]
    assert [len(panda) for panda in opened(PandasCursor).execute(CARRIERS, chunksize=2).as_pandas()] == [2, 1]
    # This cursor reads a NULL string as an empty one, whatever the server is.
    assert opened(ArrowCursor).execute(CARRIERS).as_arrow().to_pydict() == {**COLUMNS, "carrier": ["", "AA", "UA"]}
    assert opened(PolarsCursor).execute(CARRIERS).as_polars().to_dict(as_series=False) == COLUMNS


def test_data_frames_of_unloaded_parquet() -> None:
    frame = opened(PandasCursor, unload=True).execute(CARRIERS, engine="pyarrow").as_pandas()
    assert frame["flights"].tolist() == COLUMNS["flights"]
    assert opened(ArrowCursor, unload=True).execute(CARRIERS).as_arrow().to_pydict() == COLUMNS


def test_statements_that_write_tell_how_many_rows_and_which_files() -> None:
    cursor = opened()
    cursor.execute("CREATE TABLE written WITH (external_location = 's3://lake/written/') AS SELECT * FROM carriers")
    assert cursor.rowcount == 3
    cursor.execute("INSERT INTO written VALUES ('DL', 48110), ('B6', 54635)")
    assert (cursor.rowcount, cursor.fetchall()) == (2, [])
    assert cursor.output_location == f"s3://lake/staging/{cursor.query_id}"
    assert cursor.data_manifest_location == f"s3://lake/staging/{cursor.query_id}-manifest.csv"
    manifest = {"QueryExecutionId": cursor.query_id, "QueryResultType": "DATA_MANIFEST"}
    query_results = cursor.connection.client.get_query_results(**manifest)
    files = [row["Data"][0]["VarCharValue"] for row in query_results["ResultSet"]["Rows"]]
    assert len(files) == 1
    assert files[0].startswith("s3://lake/written/")
    assert cursor.execute("SELECT count(*) FROM written").fetchall() == [(5,)]
    cursor.execute("DROP TABLE written")


@pytest.mark.parametrize("kind", [AsyncCursor, AsyncDictCursor, AsyncPandasCursor, AsyncArrowCursor])
def test_results_of_futures(kind: Any) -> None:
    cursor = opened(kind)
    query_id, future = cursor.execute(CARRIERS)
    result = future.result(timeout=600)
    assert (result.state, result.query_id) == ("SUCCEEDED", query_id)
    assert len(result.fetchall()) == 3
    cursor.close()


def test_rows_of_asyncio() -> None:
    async def rows() -> Any:
        async with await aio_connect(s3_staging_dir="s3://lake/staging/", schema_name="db", poll_interval=0.02) as made:
            cursor = made.cursor()
            await cursor.execute(CARRIERS)
            return await cursor.fetchall()

    assert asyncio.run(rows()) == ROWS


def test_a_reused_result_is_reported_as_reused() -> None:
    sql = "SELECT max(flights) FROM carriers"
    again = {"result_reuse_enable": True, "result_reuse_minutes": 60}
    cursor = opened()
    assert cursor.execute(sql).reused_previous_result is False
    assert cursor.execute(sql, **again).fetchall() == [(58665,)]
    assert cursor.reused_previous_result is True
    cached = opened().execute(sql, cache_size=20)
    assert cached.query_id == cursor.query_id


def test_a_work_group_gives_the_location(lakehouse: Lakehouse) -> None:
    results = {"ResultConfiguration": {"OutputLocation": "s3://lake/of-the-team/"}}
    lakehouse.client("athena").create_work_group(Name="team", Configuration=results)
    cursor = connect(work_group="team", schema_name="db", poll_interval=0.02).cursor()
    assert cursor.execute(CARRIERS).fetchall() == ROWS
    assert str(cursor.output_location).startswith("s3://lake/of-the-team/")
    assert cursor.work_group == "team"


def test_a_work_group_manages_the_results(lakehouse: Lakehouse) -> None:
    managed = {"ManagedQueryResultsConfiguration": {"Enabled": True}}
    lakehouse.client("athena").create_work_group(Name="managed", Configuration=managed)
    cursor = connect(work_group="managed", schema_name="db", poll_interval=0.02).cursor()
    assert cursor.execute(CARRIERS).fetchall() == ROWS
    assert cursor.output_location is None


def test_metadata_of_the_catalog() -> None:
    cursor = opened()
    assert "db" in [database.name for database in cursor.list_databases("AwsDataCatalog")]
    [found] = cursor.list_table_metadata("AwsDataCatalog", "db", expression="carr.*")
    table = cursor.get_table_metadata("carriers")
    assert (found.name, table.table_type, table.location) == ("carriers", "EXTERNAL_TABLE", "s3://lake/carriers/")
    assert [(column.name, column.type, column.comment) for column in table.columns] == [
        ("carrier", "string", "two letters"),
        ("flights", "bigint", None),
    ]


@pytest.fixture(params=["rest", "pandas", "arrow", "polars"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    place = f"s3_staging_dir={quote_plus('s3://lake/staging/')}&poll_interval=0.02"
    # Without a key in the URL, the environment has it, and the endpoints.
    made = create_engine(f"awsathena+{request.param}://:@athena.us-east-1.amazonaws.com:443/db?{place}")
    yield made
    made.dispose()


def test_sqlalchemy_runs_text_and_expressions_with_parameters(engine: Engine) -> None:
    carriers = Table("carriers", MetaData(), autoload_with=engine)
    assert {column.name: str(column.type) for column in carriers.columns} == {"carrier": "VARCHAR", "flights": "BIGINT"}
    chosen = select(func.count(), func.sum(carriers.c.flights)).where(carriers.c.carrier == "UA")
    with engine.connect() as connection:
        assert [tuple(map(int, row)) for row in connection.execute(chosen)] == [(1, 58665)]
        rows = connection.execute(text("SELECT flights FROM carriers WHERE carrier = :name"), {"name": "AA"})
        assert [int(row[0]) for row in rows] == [32729]


@pytest.mark.parametrize("engine", ["rest"], indirect=True)
def test_sqlalchemy_inspects_the_catalog(engine: Engine) -> None:
    inspector = inspect(engine)
    assert "db" in inspector.get_schema_names()
    assert "carriers" in inspector.get_table_names()
    assert (
        inspector.has_table("carriers"),
        inspector.has_table("nothing"),
        inspector.has_table("carriers", schema="none"),
    ) == (
        True,
        False,
        False,
    )
    assert [(column["name"], column["comment"]) for column in inspector.get_columns("carriers")] == [
        ("carrier", "two letters"),
        ("flights", None),
    ]
    assert inspector.get_table_options("carriers")["awsathena_location"] == "s3://lake/carriers/"
    assert inspector.get_pk_constraint("carriers")["constrained_columns"] == []


@pytest.mark.parametrize("engine", ["rest"], indirect=True)
def test_sqlalchemy_creates_and_drops_tables_and_inspects_views(engine: Engine) -> None:
    columns = (
        Column("id", Integer, comment="the key"),
        Column("name", String),
        Column("year", Integer, awsathena_partition=True),
    )
    made = Table("made", MetaData(), *columns, awsathena_location="s3://lake/made/", awsathena_file_format="PARQUET")
    made.create(engine)
    opened().execute("CREATE OR REPLACE VIEW by_name AS SELECT carrier AS name, flights FROM carriers")
    inspector = inspect(engine)
    assert {"carriers", "made"} <= set(inspector.get_table_names())
    assert inspector.get_view_names() == ["by_name"]
    assert [column["name"] for column in inspector.get_columns("made")] == ["id", "name", "year"]
    assert [str(column["type"]) for column in inspector.get_columns("by_name")] == ["VARCHAR", "BIGINT"]
    view = Table("by_name", MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        assert connection.execute(select(view.c.name).where(view.c.flights > 40_000)).scalars().all() == ["UA"]
        connection.execute(text("DROP VIEW by_name"))
    made.drop(engine)
    after = inspect(engine)
    assert (after.has_table("made"), after.get_view_names()) == (False, [])

"""What one part writes, every other part reads: writers by readers, in each format and compression."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from awsglue.context import GlueContext
from awsglue.dynamicframe import DynamicFrame
from penstock.testing.server import RunningServer, running_server
from tests.integration.spark.files.writers import CELLS, LIBRARY, READ, ROWS, SPARK_SCHEMA, TEXTS

pytestmark = [
    pytest.mark.spark,
    # py4j leaves the sockets of its callbacks to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
BUCKET = "tables"


@dataclass
class Site:
    """The running parts; ``errors`` has what went wrong, by cell."""

    spark: SparkSession
    glue: GlueContext
    server: RunningServer
    folder: Path
    errors: dict[str, str] = field(default_factory=dict)

    def run(self, sql: str) -> list[list[str | None]]:
        athena = self.server.client("athena")
        started = athena.start_query_execution(
            QueryString=sql,
            QueryExecutionContext={"Database": "files"},
            ResultConfiguration={"OutputLocation": f"s3://{BUCKET}/results/"},
        )["QueryExecutionId"]
        while True:
            status = athena.get_query_execution(QueryExecutionId=started)["QueryExecution"]["Status"]
            if status["State"] in {"SUCCEEDED", "FAILED", "CANCELLED"}:
                break
            time.sleep(0.02)
        assert status["State"] == "SUCCEEDED", status.get("StateChangeReason")
        rows = athena.get_query_results(QueryExecutionId=started)["ResultSet"]["Rows"]
        return [[item.get("VarCharValue") for item in row["Data"]] for row in rows[1:]]

    def expect(self, cell: str, expected: Any, work: Callable[[], Any]) -> bool:
        """Return whether ``work`` returns ``wanted``; what it does else is in ``errors``."""
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - one test tells of all cells
            result = f"{type(error).__name__}: {str(error)[:300]}"
        if result != expected:
            self.errors[cell] = str(result)
        return bool(result == expected)


@pytest.fixture(scope="module")
def site(spark: SparkSession, spark_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("files")
    (home / "lake").symlink_to(spark_lake)
    with running_server(home) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        server.client("glue").create_database(DatabaseInput={"Name": "files"})
        yield Site(spark, GlueContext(spark.sparkContext), server, spark_lake / BUCKET / "files")


@dataclass(frozen=True)
class Cell:
    """Files that one writer has written."""

    writer: str
    form: str
    codec: str

    @property
    def name(self) -> str:
        return f"{self.writer}_{self.form}_{self.codec}"

    @property
    def place(self) -> str:
        return f"s3://{BUCKET}/files/{self.name}/"

    @property
    def headless(self) -> bool:
        """Whether the files have no line of names: SQL writes none."""
        return (self.writer, self.form) == ("sql", "csv")


def _write_all(site: Site) -> list[Cell]:
    """Write every cell; return those that were written. Spark's own writer is Glue's, so it writes one codec of each."""
    frame = site.spark.createDataFrame([tuple(row.values()) for row in ROWS], SPARK_SCHEMA).coalesce(1)
    dynamic = DynamicFrame.fromDF(frame, site.glue, "rows")
    done = []
    for form, codecs in CELLS.items():
        for codec, (of_spark, of_sql, of_library) in codecs.items():
            named = {"glue": of_spark, "sql": of_sql, "library": of_library}
            named["spark"] = of_spark if codec in {"snappy", "gzip"} else None
            cells = [(Cell(writer, form, codec), own) for writer, own in named.items() if own is not None]
            for cell, own in cells:
                if site.expect(f"write {cell.name}", None, partial(_write, site, cell, own, dynamic)):
                    done.append(cell)
    return done


def _write(site: Site, cell: Cell, codec: str, dynamic: DynamicFrame) -> None:
    if cell.writer == "glue":
        options = {"path": cell.place, "compression": codec}
        site.glue.write_dynamic_frame.from_options(dynamic, "s3", options, format=cell.form)
    elif cell.writer == "spark":
        dynamic.toDF().write.format(cell.form).options(compression=codec, header="true").save(cell.place)
    elif cell.writer == "sql":
        values = ", ".join(f"(BIGINT '{row['id']}', '{row['name']}', DOUBLE '{row['x']}')" for row in ROWS)
        text = ", field_delimiter = ','" if cell.form == "csv" else ""
        with_ = f"format = '{'TEXTFILE' if text else cell.form}', compression = '{codec}'{text}"
        site.run(f"UNLOAD (SELECT * FROM (VALUES {values}) t(id, name, x)) TO '{cell.place}' WITH ({with_})")
    else:
        folder = site.folder / cell.name
        folder.mkdir(parents=True)
        LIBRARY[cell.form](folder, codec)


def _crawl(site: Site, cells: Sequence[Cell]) -> None:
    glue = site.server.client("glue")
    targets = {"S3Targets": [{"Path": cell.place} for cell in cells]}
    glue.create_crawler(Name="all", Role="etl", DatabaseName="files", Targets=targets)
    glue.start_crawler(Name="all")
    deadline = time.monotonic() + 120
    while (crawler := glue.get_crawler(Name="all")["Crawler"])["State"] != "READY":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert crawler["LastCrawl"]["Status"] == "SUCCEEDED", crawler["LastCrawl"]


def _by_glue(site: Site, cell: Cell) -> list[list[str]]:
    options = {"withHeader": not cell.headless} if cell.form == "csv" else {}
    source = {"paths": [cell.place]}
    frame = site.glue.create_dynamic_frame.from_options("s3", source, format=cell.form, format_options=options).toDF()
    return _sorted(frame.collect(), headless=cell.headless)


def _by_spark(site: Site, cell: Cell) -> list[list[str]]:
    frame = site.spark.read.format(cell.form).options(header=str(not cell.headless).lower()).load(cell.place)
    return _sorted(frame.collect(), headless=cell.headless)


def _sorted(rows: Sequence[Any], *, headless: bool) -> list[list[str]]:
    return sorted([str(item) for item in (row if headless else (row["id"], row["name"], row["x"]))] for row in rows)


def _by_library(site: Site, cell: Cell) -> list[dict[str, Any]]:
    files = [file for file in (site.folder / cell.name).iterdir() if file.name[0] not in "._"]
    return [row for file in files for row in READ[cell.form](file)]


def test_every_part_reads_what_another_one_wrote(site: Site) -> None:
    cells = _write_all(site)
    _crawl(site, cells)
    for cell in cells:
        names = "col0, col1, col2" if cell.headless else "id, name, x"
        site.expect(f"sql {cell.name}", TEXTS, partial(site.run, f"SELECT {names} FROM {cell.name} ORDER BY 1"))
        if cell.writer != "library" and cell.form in READ:
            site.expect(f"library {cell.name}", ROWS, partial(_by_library, site, cell))
        if cell.writer in {"sql", "library"}:
            site.expect(f"glue {cell.name}", TEXTS, partial(_by_glue, site, cell))
            if cell.codec in {"snappy", "gzip"}:
                site.expect(f"spark {cell.name}", TEXTS, partial(_by_spark, site, cell))
    assert site.errors == {}

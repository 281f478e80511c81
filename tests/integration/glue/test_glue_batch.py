"""A batch job as ``penstock glue run`` runs it: the catalog's tables by name, the sinks' tables, and its own log."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import EnvironmentProblem
from penstock.testing.server import RunningServer

pytestmark = pytest.mark.spark

SCRIPT = """
import json, logging, sys
from awsglue.context import GlueContext
from awsglue.job import Job
from awsglue.utils import getResolvedOptions
from pyspark.context import SparkContext

logging.basicConfig(level=logging.INFO, format="MINE %(message)s", stream=sys.stdout)
logging.getLogger("script").info("begun")
args = getResolvedOptions(sys.argv, ["JOB_NAME"])
glueContext = GlueContext(SparkContext.getOrCreate())
spark = glueContext.spark_session
job = Job(glueContext)
job.init(args["JOB_NAME"], args)

orders = glueContext.create_dynamic_frame.from_options(
    "s3", {"paths": ["s3://shop/orders/"]}, format="json", transformation_ctx="orders"
)
sink = glueContext.getSink(
    connection_type="s3", path="s3://shop/by-land/", enableUpdateCatalog=True, partitionKeys=["land"]
)
sink.setFormat("glueparquet")
sink.setCatalogInfo(catalogDatabase="market", catalogTableName="by_land")
sink.writeFrame(orders)
found = [list(row) for row in spark.sql("SELECT id, land FROM market.by_land WHERE land = 'DE' ORDER BY id").collect()]
spark.sql("CREATE TABLE market.made USING parquet AS SELECT land, count(*) AS n FROM market.by_land GROUP BY land")
print(json.dumps([found, sorted([row.land, row.n] for row in spark.table("market.made").collect()), args["TempDir"]]))
job.commit()

lines = glueContext.getSink(connection_type="s3", path="s3://shop/lines/", enableUpdateCatalog=True)
lines.setFormat("json")
lines.setCatalogInfo(catalogDatabase="market", catalogTableName="lines")
lines.writeFrame(orders)
spark.sql("SELECT * FROM market.lines").collect()
"""


def test_a_batch_job_reads_and_writes_tables_and_names_a_serde_that_spark_lacks(
    tmp_path: Path, penstock_server: RunningServer
) -> None:
    orders = penstock_server.lake / "shop" / "orders"
    orders.mkdir(parents=True)
    records = [{"id": number, "land": "DE" if number % 2 else "FR"} for number in range(4)]
    (orders / "a.json").write_text("\n".join(map(json.dumps, records)))
    penstock_server.client("glue").create_database(DatabaseInput={"Name": "market", "LocationUri": "s3://shop/tables/"})
    script = tmp_path / "batch.py"
    script.write_text(SCRIPT)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_H"))}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "penstock", "glue", "run", "--home", str(tmp_path / "home"), "--master", "local[2]"),
            *("--lake", str(penstock_server.lake), str(script), "--enable-glue-datacatalog", "true"),
            *("--enable-spark-ui", "true", "--spark-event-logs-path", "s3://shop/ui/events/", "--enable-metrics", ""),
            *("--enable-job-insights", "false"),
        ],
        env=inherited | penstock_server.environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == EnvironmentProblem.exit_code, done.stdout + done.stderr
    said = done.stderr.splitlines()[-1]
    assert said.startswith(
        "penstock: Spark has no SerDe org.openx.data.jsonserde.JsonSerDe, which a table of the script's SQL"
    )
    assert said.endswith("(batch.py, line 34)")
    lines = done.stdout.splitlines()
    assert lines[0] == "MINE begun"
    # Behind it, py4j's errors are in the script's own log.
    printed = next(line for line in lines if line.startswith("[["))
    assert json.loads(printed) == [[[1, "DE"], [3, "DE"]], [["DE", 2], ["FR", 2]], "s3://lake/glue/temporary/"]
    assert [line for line in done.stderr.splitlines() if line.startswith("note: ")] == [
        "note: --enable-metrics: There is no CloudWatch: Spark's own figures are in the event log of --enable-spark-ui."
    ]
    # What Spark's history server reads: events as lines of JSON, from the log's start to the application's end.
    (log,) = (penstock_server.lake / "shop/ui/events").iterdir()
    events = [json.loads(line)["Event"] for line in log.read_text().splitlines()]
    assert (events[0], events[-1]) == ("SparkListenerLogStart", "SparkListenerApplicationEnd")
    assert {"SparkListenerJobEnd", "SparkListenerTaskEnd"} <= set(events)
    tables = penstock_server.client("glue").get_tables(DatabaseName="market")["TableList"]
    assert [table["Name"] for table in tables] == ["by_land", "lines", "made"]

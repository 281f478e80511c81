"""dbt-glue, unmodified, in an environment of its own: it builds a project by the statements of one interactive session."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import Table

from penstock.testing.server import running_server
from tests.integration.jobs.conftest import QUICK, Jobs, make_role

ROOT = Path(__file__).parents[3]
DBT = ROOT / ".tools" / "job-clients" / "bin" / "dbt"

PROJECT = {
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\nmodels: {shop: {+file_format: parquet}}\n",
    "seeds/prices.csv": "id,price\n1,10\n2,20\n",
    "models/sales.sql": "{{ config(materialized='table') }} select id, price * 2 as price from {{ ref('prices') }}",
    "models/days.sql": """{{ config(materialized="incremental", incremental_strategy="append") }}
        select 2 as day, count(*) as sales from {{ ref("sales") }}
        {% if is_incremental() %} where 2 > (select max(day) from {{ this }}) {% endif %}""",
    "models/schema.yml": "models: [{name: sales, columns: [{name: id, data_tests: [unique]}]}]",
}
SERDE = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {"SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"},
}


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    with running_server(tmp_path / "home", arguments=["--jobs", *QUICK, "--jobs-lake-folder"]) as server:
        make_role(server, {"Effect": "Allow", "Action": "glue:*", "Resource": "*"})
        yield Jobs(server=server, glue=server.client("glue"))


def profile(account: str) -> dict[str, Any]:
    output = {
        "type": "glue",
        "role_arn": f"arn:aws:iam::{account}:role/etl",
        "region": "us-east-1",
        "workers": 2,
        "worker_type": "G.1X",
        "schema": "shop",
        "location": "s3://lake/dbt",
        "glue_version": "5.0",
        "conf": "spark.driver.memory=1g --conf spark.sql.shuffle.partitions=1",
    }
    return {"shop": {"target": "dev", "outputs": {"dev": output}}}


def days_of_yesterday(jobs: Jobs) -> None:
    """The incremental model's table, which another program made: one day is in it."""
    folder = jobs.server.lake / "lake/dbt/shop/days"
    folder.mkdir(parents=True)
    pq.write_table(Table.from_pylist([{"day": 1, "sales": 7}]), folder / "yesterday.parquet")
    columns = [{"Name": "day", "Type": "bigint"}, {"Name": "sales", "Type": "bigint"}]
    storage = {"Location": "s3://lake/dbt/shop/days", "Columns": columns, **SERDE}
    jobs.glue.create_database(DatabaseInput={"Name": "shop"})
    table = {"Name": "days", "TableType": "EXTERNAL_TABLE", "StorageDescriptor": storage}
    jobs.glue.create_table(DatabaseName="shop", TableInput=table)


def rows(jobs: Jobs, table: str) -> list[list[Any]]:
    location = jobs.glue.get_table(DatabaseName="shop", Name=table)["Table"]["StorageDescriptor"]["Location"]
    folder = jobs.server.lake / location.removeprefix("s3://")
    return sorted(list(row.values()) for row in pq.read_table(folder).to_pylist())


def test_dbt_builds_a_project_by_a_session(jobs: Jobs, tmp_path: Path) -> None:
    for name, text in {**PROJECT, "profiles.yml": json.dumps(profile(jobs.server.account))}.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    days_of_yesterday(jobs)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DBT_"))}
    done = subprocess.run(
        [str(DBT), "--no-use-colors", "--no-send-anonymous-usage-stats", "build", "--profiles-dir", "."],
        cwd=tmp_path / "shop",
        env={**inherited, **jobs.server.environment()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS=4 WARN=0 ERROR=0 SKIP=0" in done.stdout
    assert rows(jobs, "prices") == [[1, 10], [2, 20]]
    assert rows(jobs, "sales") == [[1, 20], [2, 40]]
    assert rows(jobs, "days") == [[1, 7], [2, 2]]
    sessions = jobs.glue.list_sessions()["Sessions"]
    assert [session["Status"] in {"STOPPING", "STOPPED"} for session in sessions] == [True]

"""DuckDB's own Iceberg client on the REST catalog, in the environment of clients, whose DuckDB has the extension."""

import json
import subprocess
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.rest import RestCatalog

from tests.integration.iceberg.world import KEY, SECRET, World

PYTHON = Path(__file__).parents[3] / ".tools" / "clients" / "bin" / "python"


def test_duckdb_reads_and_changes_tables(world: World, catalog: RestCatalog) -> None:
    catalog.create_namespace("shared")
    made = catalog.create_table("shared.made", pa.schema([("id", pa.int64()), ("name", pa.string())]))
    made.append(pa.table({"id": [1, 2, 3], "name": ["a", "b", None]}))
    flow = Path(__file__).with_name("duckdb_flow.py")
    done = subprocess.run(
        [str(PYTHON), str(flow), world.uri, world.server.account, KEY, SECRET],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "of_others": [[1, "a"], [2, "b"], [3, None]],
        "changed": [["x", 6], ["y", 1], ["z", 1]],
        "transaction": [[42], [43]],
    }
    assert sorted(catalog.load_table("shared.made").scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    assert sorted(catalog.load_table("duck.t").scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 3, 4, 5, 6, 100]

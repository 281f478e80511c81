"""Ten scripts of kinds that others publish, whole, by the real launcher; each result is computed again from its input."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pg8000.native
import pyarrow.parquet as pq
import pytest
from sqlalchemy.engine import make_url

from penstock.glue.check.script import check_script
from penstock.testing.kinesis import KinesisStandIn
from penstock.testing.postgres import running_postgres
from penstock.testing.server import RunningServer, running_server
from tests.integration.glue.field import inputs

pytestmark = pytest.mark.spark

HERE = Path(__file__).parent
JOBS = HERE / "jobs"
SECONDS = 400
Rows = list[dict[str, Any]]


class Field:
    """The field after all scripts have run: rows of what they wrote under the bucket, and SQL over their database."""

    def __init__(self, bucket: Path, server: RunningServer, database: pg8000.native.Connection, seen: str) -> None:
        self.bucket, self.server, self.database, self.seen = bucket, server, database, seen

    def json(self, folder: str) -> Rows:
        return [json.loads(line) for path in self._files(folder) for line in path.read_text().splitlines()]

    def parquet(self, folder: str) -> Rows:
        return [row for path in self._files(folder) for row in pq.ParquetFile(path).read().to_pylist()]

    def _files(self, folder: str) -> list[Path]:
        return sorted(
            path for path in (self.bucket / folder).rglob("*") if path.is_file() and path.name[0] not in {"_", "."}
        )


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory, kinesis: KinesisStandIn) -> Iterator[Field]:
    folder = tmp_path_factory.mktemp("field")
    kinesis.create_stream("beats", shards=2)
    for record in inputs.BEATS:
        kinesis.client().put_record(StreamName="beats", Data=json.dumps(record).encode(), PartitionKey=str(record["id"]))
    with running_postgres() as postgres, running_server(folder / "home") as server:
        bucket = server.lake / "field"
        bucket.mkdir(parents=True)
        catalog = server.client("glue")
        inputs.add_tables(catalog, bucket)
        url = make_url(postgres.new_database())
        login = {"USERNAME": str(url.username), "PASSWORD": str(url.password)}
        login["JDBC_CONNECTION_URL"] = f"jdbc:postgresql://{url.host}:{url.port}/other"
        catalog.create_connection(
            ConnectionInput={"Name": "warehouse", "ConnectionType": "JDBC", "ConnectionProperties": login}
        )
        port = int(url.port or 0)
        with pg8000.native.Connection(str(url.username), "127.0.0.1", url.database, port, str(url.password)) as admin:
            admin.run("CREATE DATABASE sport")
        environment = server.environment() | {"AWS_ENDPOINT_URL_KINESIS": kinesis.endpoint_url}
        names = sorted({path.stem for path in JOBS.glob("*.txt")} - {"sales"})
        plan = [*([name] for name in names), ["sales", "--run", "0"], ["sales", "--run", "1"]]
        seen = _run(folder, server, environment, plan)
        with pg8000.native.Connection(str(url.username), "127.0.0.1", "sport", port, str(url.password)) as sport:
            yield Field(bucket, server, sport, seen)


def _run(folder: Path, server: RunningServer, environment: dict[str, str], jobs: Sequence[Sequence[str]]) -> str:
    plan: list[list[str]] = []
    for name, *arguments in jobs:
        script = folder / f"{name}.py"
        script.write_text((JOBS / f"{name}.txt").read_text())
        assert not check_script(script).of_status("refused"), script
        given = ["--JOB_NAME", name, "--TempDir", "s3://field/temp", "--job-bookmark-option", "job-bookmark-enable"]
        plan.append([str(script), *given, *arguments])
    plan.insert(-1, ["arrive", str(server.lake / "field" / "later"), str(server.lake / "field" / "in" / "sales")])
    (folder / "plan.json").write_text(json.dumps(plan))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PENSTOCK_H"))}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "penstock", "glue", "run", "--home", str(folder / "glue"), "--master", "local[2]"),
            *("--once", "--lake", str(server.lake), "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.sql.shuffle.partitions=2", str(HERE / "together.py")),
            *("--plan", str(folder / "plan.json"), "--enable-glue-datacatalog", "true", "--datalake-formats", "iceberg"),
        ],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_history_is_joined_partitioned_and_flat_in_a_database(field: Field) -> None:
    clubs = {club["id"]: club for club in inputs.CLUBS}
    expected = [
        (player["id"], contract["years"], clubs[contract["organization_id"]]["name"], len(player["links"]))
        for contract in inputs.CONTRACTS
        for player in inputs.PLAYERS
        if player["id"] == contract["player_id"] and contract["organization_id"] in clubs
    ]
    whole, single = field.parquet("history/whole"), field.parquet("history/single")
    for rows in (whole, single):
        results = [(row["id"], row["years"], row["club_name"], len(row["links"])) for row in rows]
        assert sorted(results) == sorted(expected)
        assert set(rows[0]) == {"id", "name", "links", "organization_id", "years", "club_name", "seats"}
    for club in clubs.values():
        count = len(field.parquet(f"history/by-club/club_name={club['name']}"))
        assert count == sum(name == club["name"] for *_, name, _ in expected)
    counts = field.database.run("SELECT count(*), count(distinct links) FROM hist_root")
    assert counts == [[len(expected), len(expected)]]
    notes = field.database.run(
        """SELECT r.id, l."links.val.note" FROM hist_root r JOIN hist_root_links l ON r.links = l.id ORDER BY 1, 2"""
    )
    links = {player["id"]: player["links"] for player in inputs.PLAYERS}
    assert notes == sorted([number, link["note"]] for number, *_ in expected for link in links[number])
    assert f"Count:  {len(expected)}" in field.seen


def test_choices_are_resolved_in_four_ways(field: Field) -> None:
    given = {stay["what"]: int(s) if (s := stay["clinic id"]).isdigit() else s for stay in inputs.STAYS}
    numbers = {what: value if isinstance(value, int) else None for what, value in given.items()}
    for name in ("cast", "project"):
        assert {row["what"]: row.get("clinic id") for row in field.json(f"choices/{name}")} == numbers
    columns = {row["what"]: (row.get("clinic id_long"), row.get("clinic id_string")) for row in field.json("choices/cols")}
    assert columns == {what: (value, None) if isinstance(value, int) else (None, value) for what, value in given.items()}
    structs = {row["what"]: row["clinic id"] for row in field.json("choices/struct")}
    assert structs == {
        what: {"long": value} if isinstance(value, int) else {"string": value} for what, value in given.items()
    }
    assert {row["what"] for row in field.json("choices/sql")} == {s["what"] for s in inputs.STAYS if s["days spent"] > 30}


def test_prices_are_cleaned_and_nested(field: Field) -> None:
    expected = [
        {
            "treatment": stay["what"],
            "clinic": {"id": int(stay["clinic id"]), "name": stay["clinic name"], "zip": stay["clinic zip"]},
            "charges": {"total": float(stay["price"][1:])},
        }
        for stay in inputs.STAYS
        if stay["clinic id"].isdigit()
    ]
    assert sorted(field.parquet("cleaned"), key=lambda row: row["treatment"]) == sorted(
        expected, key=lambda row: row["treatment"]
    )


def test_films_are_routed_by_their_outcome(field: Field) -> None:
    good = [film for film in inputs.FILMS if film["score"] is not None and 8.5 < film["score"] < 10.3]
    results = sorted((row["title"], row["score"], row["year"]) for row in field.json("good-films"))
    assert results == sorted((film["title"], round(film["score"], 2), film["year"]) for film in good)
    bad = field.json("films/bad")
    assert {row["title"] for row in bad} == {f["title"] for f in inputs.FILMS} - {f["title"] for f in good}
    empty = next(row for row in bad if row["title"] == "film 0")
    assert 'IsComplete "score"' in empty["DataQualityRulesFail"]
    outcomes = {row["Rule"]: row["Outcome"] for row in field.json("films/outcomes")}
    assert outcomes == {'IsComplete "score"': "Failed", 'ColumnValues "score" between 8.5 and 10.3': "Failed"}


def test_trusted_customers_are_a_table(field: Field) -> None:
    moved = {
        customer["email"]: sum(reading["x"] for reading in inputs.READINGS if reading["user"] == customer["email"])
        for customer in inputs.CUSTOMERS
        if "share" in customer and any(reading["user"] == customer["email"] for reading in inputs.READINGS)
    }
    rows = field.json("trusted")
    assert {row["email"]: row["moved"] for row in rows} == moved
    assert len(rows) == len(moved)
    table = field.server.client("glue").get_table(DatabaseName="league", Name="trusted")["Table"]
    columns = {column["Name"]: column["Type"] for column in table["StorageDescriptor"]["Columns"]}
    assert columns == {"email": "string", "share": "bigint", "moved": "bigint"}


def test_a_trail_is_one_flat_table(field: Field) -> None:
    results = sorted(field.parquet("trail"), key=lambda row: row["event"])
    assert [(row["event"], row["size.int"], row["size.string"], row["who.name"], "who.roles" in row) for row in results] == [
        (
            event["event"],
            event["size"] if isinstance(event["size"], int) else None,
            event["size"] if isinstance(event["size"], str) else None,
            event["who"]["name"],
            True,
        )
        for event in inputs.TRAIL
    ]


def test_a_collection_is_written_frame_by_frame(field: Field) -> None:
    rows = field.json("trail-tables")
    roles = sum(len(event["who"]["roles"]) for event in inputs.TRAIL)
    assert len([row for row in rows if "event" in row]) == len(inputs.TRAIL)
    assert len([row for row in rows if "who.roles.val" in row]) == len(rows) - len(inputs.TRAIL) == roles


def test_changes_are_merged_into_iceberg(field: Field) -> None:
    expected = {record["id"]: record["name"] for record in inputs.FIRST} | {1: "changed", 9: "new"}
    del expected[2]
    assert {row["id"]: row["name"] for row in field.json("accounts")} == expected
    table = field.server.client("glue").get_table(DatabaseName="league", Name="accounts")["Table"]
    assert table["Parameters"]["table_type"].upper() == "ICEBERG"


def test_a_stream_is_written_by_month(field: Field) -> None:
    rows = field.json("beats")
    assert sorted((row["id"], row["beat"]["rate"]) for row in rows) == [(b["id"], b["rate"]) for b in inputs.BEATS]
    assert {row["at"][:19].replace("T", " ") for row in rows} == {b["at"] for b in inputs.BEATS}


def test_a_bookmark_reads_each_sale_once(field: Field) -> None:
    for run in (0, 1):
        results = {
            (path.parent.name, record["id"])
            for path in field._files(f"sales/{run}")
            for record in map(json.loads, path.read_text().splitlines())
        }
        assert results == {(f"land={s['land']}", s["id"]) for s in inputs.SALES[run] if s["land"] != "IT"}


def test_policies_keep_their_commas(field: Field) -> None:
    results = sorted((row["policy"], row["holder"], row["premium"]) for row in field.parquet("policies"))
    header, *rows = inputs.POLICIES
    assert header[:3] == ["policy", "holder", "premium"]
    assert results == [(policy, holder, float(premium)) for policy, holder, premium, _ in rows if premium]

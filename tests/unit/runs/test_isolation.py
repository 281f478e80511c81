"""What runs may reach, and when none are run, from the operator's settings."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.jobs.model import JobRun
from penstock.runs.folders import RunFolder
from penstock.runs.isolation import Isolation
from penstock.server.isolation import check_jobs, ports_in
from penstock.settings.jobs import JobsSettings
from penstock.settings.server import ServerSettings

NOW = datetime(2026, 11, 22, tzinfo=UTC)
RUN = JobRun(id="jr", job="j", settings={}, started=NOW, modified=NOW)
OPEN = Isolation(account="1", sandbox=False)


@pytest.mark.parametrize(
    ("isolation", "told"),
    [
        (Isolation(account="1", sandbox=True), None),
        (Isolation(account="1", sandbox=True, accounts=lambda: 2), None),
        (OPEN, "--jobs-without-sandbox"),
        (replace(OPEN, without_sandbox=True), None),
        (replace(OPEN, without_sandbox=True, accounts=lambda: 2), "there are several accounts"),
        (Isolation(account="1", sandbox=True, alone=True), None),
        (Isolation(account="1", sandbox=True, alone=True, accounts=lambda: 2), "--jobs-lake-folder"),
    ],
)
def test_runs_are_refused_where_they_would_reach_what_they_must_not(isolation: Isolation, told: str | None) -> None:
    if told is None:
        isolation.check()
        return
    with pytest.raises(EnvironmentProblem) as refused:
        isolation.check()
    assert told in str(refused.value)


def test_ports_are_those_of_the_endpoints_the_operator_and_the_job_s_connections_but_the_store_s() -> None:
    isolation = Isolation(account="1", connect=(8752,), closed=(5432,), ports_of=lambda _run: (5432, 3306))
    confinement = isolation.confinement(
        RUN,
        RunFolder(Path("/runs/jr")),
        {"HTTPS_PROXY": "http://proxy:3128", "PATH": "/usr/bin"},
        urls=["http://127.0.0.1:8750", "https://lake.example.com", "", "spark://master:7077", "local[*]"],
        spark=True,
    )
    assert confinement.connect == (443, 3128, 3306, 7077, 8750, 8752)
    assert (confinement.closed, confinement.local_ports) == ((5432,), True)
    assert confinement.write == (Path("/runs/jr/work"), Path("/runs/jr/tmp"), Path("/runs/jr/spark"))
    assert not {Path("/"), Path("/tmp"), Path("/etc"), Path("/dev"), Path("/runs")} & {*confinement.read, *confinement.write}


@pytest.mark.parametrize(
    ("properties", "ports"),
    [
        ({"JDBC_CONNECTION_URL": "jdbc:postgresql://db.example.com:6432/sales"}, {6432}),
        ({"JDBC_CONNECTION_URL": "jdbc:redshift://c.example.com/dev"}, {5439}),
        ({"JDBC_CONNECTION_URL": "jdbc:oracle:thin:@//db:1521/x"}, {1521}),
        ({"KAFKA_BOOTSTRAP_SERVERS": "b-1.example.com:9098,b-2.example.com:9096"}, {9098, 9096}),
        ({"CONNECTION_URL": "mongodb://db.example.com/x", "PASSWORD": "a:1"}, {27017}),
        ({"JDBC_CONNECTION_URL": "jdbc:unknown://db"}, set()),
    ],
)
def test_a_connection_names_its_ports(properties: dict[str, str], ports: set[int]) -> None:
    assert ports_in(properties) == ports


def test_a_server_does_not_start_where_runs_would_have_the_lake_or_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"

    def settings(s3: str | None = "http://127.0.0.1:1", **jobs: Any) -> ServerSettings:
        return ServerSettings(
            store_url="sqlite://",
            lake=home / "lake",
            account_lakes=home / "lakes",
            master_key_file=home / "master.key",
            s3_endpoint_url=s3,
            jobs=JobsSettings(folder=home / "jobs", private=(home / "master.key",), **jobs),
        )

    with pytest.raises(InvalidInput, match=r"Jobs need an S3 endpoint.*penstock serve-s3.*--jobs-lake-folder"):
        check_jobs(settings(None))
    check_jobs(settings(None, lake_folder=True))
    check_jobs(settings())
    with pytest.raises(EnvironmentProblem, match=r"master.key is in .*which runs of jobs read"):
        check_jobs(settings(readable=(tmp_path,)))

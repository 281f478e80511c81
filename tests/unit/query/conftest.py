"""A lake of flights, and a service over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.lake.locations import LakeFolder
from penstock.query.execution.children import ChildPool
from penstock.query.service import QueryService, StatementRequest
from penstock.query.settings import QuerySettings
from penstock.statements.model import Statement
from tests.unit.query.lake_of_flights import Ask, Lake, Rows, finished, flights, service_over


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "lake" / "lake").mkdir(parents=True)
    made = Lake(LakeFolder(tmp_path / "lake"))
    flights(made)
    return made


@pytest.fixture
def settings() -> QuerySettings:
    return QuerySettings(output_location="s3://lake/athena-results/", poll_seconds=0.02, memory_bytes=256 << 20, threads=1)


@pytest.fixture
def service(lake: Lake, settings: QuerySettings, children: ChildPool) -> Iterator[QueryService]:
    made = service_over(lake, settings, children)
    yield made
    made.close()


@pytest.fixture
def ask(service: QueryService) -> Ask:
    """Return a function that runs a statement to its end, in database flights_db."""

    def run(sql: str, **request: object) -> Statement:
        statement = StatementRequest(**({"sql": sql, "database": "flights_db"} | request))  # type: ignore[arg-type]
        return finished(service, service.start(statement))

    return run


@pytest.fixture
def rows(service: QueryService, ask: Ask) -> Rows:
    """Return a function that runs a statement, which must succeed, and returns its rows without a SELECT's header."""

    def run(sql: str, **request: object) -> list[list[str | None]]:
        statement = ask(sql, **request)
        assert statement.state == "SUCCEEDED", statement.reason
        lines = [list(row) for row in service.results(statement.id)[1].rows]
        return lines[1:] if statement.result_uri.endswith(".csv") else lines

    return run

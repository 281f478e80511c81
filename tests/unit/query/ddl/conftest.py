"""A service over a real catalog in memory, whose database ``db`` is empty."""

from collections.abc import Iterator

import pytest

from penstock.api.aws.catalog.changes import CatalogOperations
from penstock.catalog.model import DatabaseInput
from penstock.catalog.service import CatalogService
from penstock.query.execution.children import ChildPool
from penstock.query.service import QueryService
from penstock.query.settings import QuerySettings
from penstock.statements.model import Statement
from penstock.store.sql.catalog.store import SqlCatalogStore
from penstock.testing.sqlite import new_database
from tests.unit.query.lake_of_flights import Ask, Lake, service_over


@pytest.fixture
def catalog() -> CatalogService:
    made = CatalogService(SqlCatalogStore(new_database()))
    made.create_database(DatabaseInput(name="db"))
    return made


@pytest.fixture
def service(lake: Lake, catalog: CatalogService, settings: QuerySettings, children: ChildPool) -> Iterator[QueryService]:
    made = service_over(
        lake,
        settings,
        children,
        catalog=catalog,
        changes=CatalogOperations(catalog, account="000000000000", region="us-east-1"),
    )
    yield made
    made.close()


@pytest.fixture
def done(ask: Ask) -> Ask:
    """Return a function that runs a statement in database ``db``, which must succeed."""

    def run(sql: str, **request: object) -> Statement:
        statement = ask(sql, **({"database": "db"} | request))
        assert statement.state == "SUCCEEDED", statement.reason
        return statement

    return run


@pytest.fixture
def refused(ask: Ask) -> "Ask":
    """Return a function that runs a statement in database ``db``, which must fail, and returns it."""

    def run(sql: str, **request: object) -> Statement:
        statement = ask(sql, **({"database": "db"} | request))
        assert statement.state == "FAILED"
        return statement

    return run

"""One server with its S3 endpoint for the folder's tests."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests.integration.iceberg.world import World, open_world


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_world(tmp_path_factory.mktemp("iceberg")) as opened:
        yield opened


@pytest.fixture(scope="package")
def catalog(world: World) -> RestCatalog:
    return world.bearer()


@pytest.fixture
def namespace(catalog: RestCatalog, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own, named after it."""
    test: Any = request.node
    name = f"{test.module.__name__.rpartition('.')[2]}_{test.name.partition('[')[0]}".lower()
    catalog.create_namespace(name)
    return name

"""One S3 endpoint for the folder's tests, a real process."""

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.local.objectstore import ObjectStore
from penstock.local.processes.ports import free_ports


@pytest.fixture(scope="package")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    folder = tmp_path_factory.mktemp("s3")
    with ObjectStore(
        lake=folder / "lake",
        folder=folder / "run",
        port=free_ports(1)[0],
        access_key_id="AKIATESTTESTTESTTEST",
        secret_access_key="endpoint-tests-secret",
        account="111122223333",
    ) as running:
        yield running


@pytest.fixture(scope="package")
def s3(store: ObjectStore) -> Iterator[Any]:
    client = store.client()
    yield client
    client.close()

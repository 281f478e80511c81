"""Handlers over stores in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.api.aws.every_operation import World, fill, start


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = start(tmp_path)
    fill(made)
    yield made
    made.services.close()

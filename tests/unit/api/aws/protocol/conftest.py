"""The dispatcher called as ASGI without a socket."""

from collections.abc import Iterator

import pytest

from tests.unit.api.aws.protocol.dispatcher import World


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.app.close()

"""Things that are hidden from a user, one set for each deployment."""

from typing import Any

import pytest

from tests.security.access.denied_requests import MADE, World, make


@pytest.fixture
def world(target: Any) -> World:
    """Created once for each deployment: if the tests pass, nothing of it is deleted."""
    if target.url not in MADE:
        MADE[target.url] = make(target)
    return MADE[target.url]

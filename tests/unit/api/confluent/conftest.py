"""Confluent's API over an empty registry in memory."""

import pytest

from tests.unit.api.confluent.confluent_api import ConfluentApi


@pytest.fixture
def api() -> ConfluentApi:
    return ConfluentApi()

"""The real parts that these tests share with the integration tests."""

from tests.integration.conftest import broker

__all__ = ["broker"]

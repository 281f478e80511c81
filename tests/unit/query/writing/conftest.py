"""The service over a real catalog, for statements that write."""

from tests.unit.query.ddl.conftest import catalog, done, refused, service

__all__ = ["catalog", "done", "refused", "service"]

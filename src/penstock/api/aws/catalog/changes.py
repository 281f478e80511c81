"""Glue's operations on the catalog for callers inside the server, such as SQL statements."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.aws.catalog.operations import operations
from penstock.api.aws.protocol.endpoints import EndpointTable
from penstock.api.aws.protocol.operations import BatchHandler, OperationSet, RequestContext
from penstock.catalog.service import CatalogService
from penstock.errors import InvalidInput

__all__ = ["CatalogOperations"]


def _as_is(operations: OperationSet) -> OperationSet:
    return operations


class CatalogOperations:
    """A :class:`penstock.query.ports.CatalogChanges`: the operations as the API serves them, requests checked alike.

    It authorizes nothing: its callers have done so. ``wrap`` adds what else
    happens at an operation.
    """

    def __init__(
        self, service: CatalogService, *, account: str, region: str, wrap: Callable[[OperationSet], OperationSet] = _as_is
    ) -> None:
        self._service = service
        self._wrap = wrap
        self._account = account
        self._region = region
        self._endpoints: EndpointTable | None = None

    def change(self, operation: str, request: Mapping[str, Any], /) -> Mapping[str, Any]:
        """Carry out ``operation`` (``CreateTable``) with a request in its JSON shape; return the response."""
        if self._endpoints is None:  # at the first change, because most servers start without one
            self._endpoints = EndpointTable([self._wrap(operations(self._service))])
        endpoint = self._endpoints.get(f"AWSGlue.{operation}")
        if endpoint is None or isinstance(endpoint.handler, BatchHandler):
            raise InvalidInput(f"{operation} is not an operation on the catalog.")
        context = RequestContext(
            service="glue", operation=operation, account=self._account, region=self._region, principal="", request_id=""
        )
        return endpoint.handler(endpoint.check(request), context)

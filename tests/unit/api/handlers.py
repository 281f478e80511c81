"""Handlers called by tests without a dispatcher."""

from collections.abc import Mapping
from typing import Any

from penstock.api.aws.protocol.operations import AnyHandler, BatchHandler, RequestContext

__all__ = ["called"]

_NOBODY = RequestContext(
    service="glue", operation="", account="000000000000", region="us-east-1", principal="-", request_id="1"
)


def called(handler: AnyHandler, request: Mapping[str, Any], context: RequestContext = _NOBODY) -> Mapping[str, Any]:
    """The response to one request; raises the error that it is refused with."""
    if not isinstance(handler, BatchHandler):
        return handler(request, context)
    [answer] = handler.answer([(request, context)])
    if isinstance(answer, Exception):
        raise answer
    return answer

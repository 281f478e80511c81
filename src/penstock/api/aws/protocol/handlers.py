"""Handlers of the forms that most operations have: a service's method, called with members of the request."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.aws.protocol.operations import Handler, RequestContext
from penstock.api.aws.protocol.values import Request, Response
from penstock.errors import NotFound
from penstock.paging import Page

__all__ = ["Argument", "account", "batch_get", "call", "listing", "member", "paged", "under"]

Argument = str | Callable[[Request, RequestContext], Any]
"""What a method is called with: a required member by its name, or a function of the request and its context."""

_REQUIRED = object()


def account(_request: Request, context: RequestContext) -> str:
    """The account of the requested resources, as an :data:`Argument`."""
    return context.account


def member(name: str, convert: Callable[[Any], Any] | None = None, *, default: Any = _REQUIRED) -> Argument:
    """Return the argument that is a member's value, or what ``convert`` makes of it.

    ``default`` stands for a member that is absent; without one, the member is required.
    """

    def value(request: Request, _context: RequestContext) -> Any:
        if default is not _REQUIRED and request.get(name) is None:
            return default
        return request[name] if convert is None else convert(request[name])

    return value


def nothing(_result: Any) -> Response:
    """Answer without members."""
    return {}


def under(name: str, shape: Callable[[Any], Any]) -> Callable[[Any], Response]:
    """Return the answer that has the ``shape`` of a method's result as the member ``name``."""
    return lambda result: {name: shape(result)}


def call(
    method: Callable[..., Any],
    *arguments: Argument,
    answer: Callable[[Any], Response] = nothing,
    echo: str = "",
    **named: Argument,
) -> Handler:
    """Return a handler that calls ``method``.

    ``answer`` turns the method's result into the response; or the response repeats the request's member ``echo``.
    """

    def handle(request: Request, context: RequestContext) -> Response:
        # Plain members first: a function may raise, and the test of members asks that each of them is read.
        members = {name: request[name] for name in arguments if isinstance(name, str)}
        values = [members[value] if isinstance(value, str) else value(request, context) for value in arguments]
        result = method(*values, **{name: _value(argument, request, context) for name, argument in named.items()})
        return {echo: request[echo]} if echo else answer(result)

    return handle


def listing(name: str, shape: Callable[[Any], Any], list_page: Callable[..., Page[Any]], *, size: int = 100) -> Handler:
    """Return a handler of a listing: the page of ``list_page`` that MaxResults (or ``size``) and NextToken ask for."""

    def handle(request: Request, _context: RequestContext) -> Response:
        page = list_page(limit=request.get("MaxResults") or size, token=request.get("NextToken"))
        return paged(page, **{name: [shape(row) for row in page.items]})

    return handle


def paged(page: Page[Any], **members: Any) -> Response:
    """Return an answer with the token of the page that follows ``page``, if there is one."""
    return {**members, "NextToken": page.next_token} if page.next_token else members


def batch_get(name: str, shape: Callable[[Any], Any], get: Callable[[str], Any], names: str, missing: str) -> Handler:
    """Return a handler that gets what the list ``names`` of a request names, and lists those that are not there."""

    def handle(request: Request, _context: RequestContext) -> Response:
        shapes: list[Mapping[str, Any]] = []
        absent: list[str] = []
        for one in dict.fromkeys(request[names]):
            try:
                shapes.append(shape(get(one)))
            except NotFound:
                absent.append(one)
        return {name: shapes, missing: absent}

    return handle


def _value(argument: Argument, request: Request, context: RequestContext) -> Any:
    return request[argument] if isinstance(argument, str) else argument(request, context)

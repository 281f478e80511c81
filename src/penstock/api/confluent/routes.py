"""Which path and method calls which handler. Parts are decoded after the path is split, so a name may have a slash."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from penstock.api.confluent.errors import BadRequest, UnknownPath, WrongMethod
from penstock.api.confluent.requests import Request
from penstock.api.routing import RouteTable, split_path

__all__ = ["Handler", "Match", "RawText", "Route", "Router"]

_MAX_PATH = 4_096

Handler = Callable[[Request], Any]


@dataclass(frozen=True, slots=True)
class RawText:
    """An answer that is a schema's text itself, not wrapped in JSON."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A handler at ``path`` (``/subjects/{subject}/versions``); ``name`` is the operation in metrics and logs.

    An ``inline`` handler answers from memory or one indexed read and runs on the event loop, unless the request asks for
    another ``format``, which may have to compile. All others run on a thread.
    """

    method: str
    path: str
    name: str
    handler: Handler
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A route with the parts of the request's path; ``context`` is the name in a leading ``/contexts/NAME``."""

    route: Route
    parts: Mapping[str, str]
    context: str


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.table = RouteTable(routes)

    def find(self, method: str, raw_path: str) -> Match:
        """Return the route; raise :class:`UnknownPath`, :class:`WrongMethod`, or :class:`BadRequest` for an invalid path."""
        segments = split_path(raw_path, _decoded, most=_MAX_PATH, invalid=BadRequest)
        context = "."
        if len(segments) > 2 and segments[0] == "contexts":
            context, segments = segments[1].strip(":") or ".", segments[2:]
        match = self.table.find(segments)
        if match is None:
            raise UnknownPath("HTTP 404 Not Found", remedy="See docs/registry/confluent.md for the paths that are served.")
        methods, parts = match
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise WrongMethod(method, sorted(methods))
        return Match(route, parts, context)


def _decoded(part: str) -> str:
    return unquote_to_bytes(part).decode()  # a plus sign in a path is not a space

"""Which path and method calls which handler. Parts are decoded after the path is split, so a name may have a slash."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote_plus

from penstock.api.iceberg.call import Answer, Call
from penstock.api.iceberg.errors import UnknownPath, WrongMethod
from penstock.api.routing import RouteTable, split_path
from penstock.errors import InvalidInput

__all__ = ["PREFIX", "ROOT", "Handler", "Match", "Route", "Router"]

ROOT = "/iceberg"
PREFIX = "/v1/{prefix}"
_MAX_PATH = 8_192
_CATALOGS = "catalogs"
# Iceberg's clients encode names as in forms: a plus is a space.
_decoded = partial(unquote_plus, errors="strict")

Handler = Callable[[Call], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A handler at ``path`` below :data:`ROOT`; ``name`` is the operation in metrics and logs.

    ``{prefix}`` stands for ``catalogs/ACCOUNT``, Glue's form; it may be left out, and then means the caller's own account.
    A route that ``changes`` something is not answered while the audit log cannot be written.
    """

    method: str
    path: str
    name: str
    handler: Handler
    changes: bool = False

    @property
    def advertised(self) -> str:
        """The route as the configuration lists it."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Match:
    """A route with the parts of the request's path; ``catalog`` is the one in the prefix, None without a prefix."""

    route: Route
    parts: Mapping[str, str]
    catalog: str | None


class Router:
    """Finds the route of a request."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self.table = RouteTable(routes, without="/{prefix}")

    def find(self, method: str, raw_path: str) -> Match:
        """Return the route; raise :class:`UnknownPath`, :class:`WrongMethod`, or :class:`InvalidInput`."""
        segments = split_path(raw_path, _decoded, most=_MAX_PATH, invalid=InvalidInput, root=ROOT)
        catalog = None
        if len(segments) > 3 and segments[1] == _CATALOGS:
            catalog = segments[2]
            segments = [segments[0], *segments[3:]]
        elif len(segments) > 2 and segments[1].startswith(f"{_CATALOGS}/"):
            # DuckDB encodes the prefix as one part of the path.
            catalog = segments[1].removeprefix(f"{_CATALOGS}/")
            segments = [segments[0], *segments[2:]]
        match = self.table.find(segments)
        if match is None:
            raise UnknownPath(f"Nothing is served at {raw_path[:200]}.", remedy="The configuration lists what is served.")
        methods, parts = match
        route = methods.get(method)
        if route is None:
            raise WrongMethod(method, sorted(methods))
        return Match(route, parts, catalog)

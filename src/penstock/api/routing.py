"""Paths of requests and the routes that answer them, for the APIs whose operations are paths."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from penstock.errors import PenstockError

__all__ = ["RoutePath", "RouteTable", "split_path"]

_MAX_PART = 1_024


class RoutePath(Protocol):
    """A route: its method, and its path with parameters in braces (``/subjects/{subject}/versions``)."""

    @property
    def method(self) -> str: ...

    @property
    def path(self) -> str: ...


R = TypeVar("R", bound=RoutePath)


class RouteTable(Generic[R]):
    """Routes by the number and the names of their paths' parts; of two that fit, the one that was given first."""

    def __init__(self, routes: Iterable[R], *, without: str = "") -> None:
        """``without`` is left out of the routes' paths."""
        routes = self.routes = tuple(routes)
        self._by_length: dict[int, list[tuple[tuple[str, ...], dict[str, R]]]] = {}
        for route in routes:
            path = route.path.replace(without, "") if without else route.path
            pattern = tuple(path.strip("/").split("/")) if path != "/" else ()
            patterns = self._by_length.setdefault(len(pattern), [])
            methods = next((entry for shape, entry in patterns if shape == pattern), None)
            if methods is None:
                methods = {}
                patterns.append((pattern, methods))
            methods[route.method] = route

    def find(self, segments: Sequence[str]) -> tuple[Mapping[str, R], Mapping[str, str]] | None:
        """Return the routes at a path by method, and its parameters; None if there is nothing. ``segments`` are decoded."""
        for pattern, methods in self._by_length.get(len(segments), ()):
            parts = _match(pattern, segments)
            if parts is not None:
                return methods, parts
        return None


def split_path(
    path: str, decode: Callable[[str], str], *, most: int, invalid: Callable[[str], PenstockError], root: str = ""
) -> Sequence[str]:
    """Return the decoded parts of a path of up to ``most`` characters below ``root``; raise ``invalid`` with the reason."""
    if len(path) > most:
        raise invalid(f"The path has {len(path)} characters; {most} are read.")
    try:
        segments = [decode(part) for part in path.removeprefix(root).strip("/").split("/")]
    except UnicodeDecodeError:
        raise invalid("The path is not UTF-8.") from None
    if any(len(segment) > _MAX_PART for segment in segments):
        raise invalid(f"A part of the path has more than {_MAX_PART} characters.")
    return [] if segments == [""] else segments


def _match(pattern: Sequence[str], segments: Sequence[str]) -> dict[str, str] | None:
    parts: dict[str, str] = {}
    for expected, segment in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            parts[expected[1:-1]] = segment
        elif expected != segment:
            return None
    return parts

"""User-defined functions of databases: named definitions that engines load. Penstock does not run them.

Source: Glue API reference, "User-defined function API"; General Reference, "AWS Glue endpoints and quotas".
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from penstock.catalog.details import Body, DetailKind, Home, removal
from penstock.catalog.errors import CatalogFull
from penstock.catalog.search import name_matcher
from penstock.catalog.sizes import weigh
from penstock.catalog.store import CatalogStore
from penstock.errors import AlreadyExists, InvalidInput, NotFound
from penstock.paging import InvalidToken, Page, page

__all__ = ["FunctionNotFound", "Functions"]

_MOST = 100  # of a database
_SCAN = 100
_BEHIND = "\x00"  # between a database's name and a function's in tokens: it sorts before every character of a name


class FunctionNotFound(NotFound):
    """The database has no function with this name."""

    def __init__(self, database: str, name: str) -> None:
        super().__init__(
            f"Function {name} not found in database {database}.", remedy="GetUserDefinedFunctions lists the existing ones."
        )


class Functions:
    """Create, read, change and delete functions. A function is the members of its input, with ``CreateTime``."""

    def __init__(self, store: CatalogStore, *, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now

    def create(self, database: str, definition: Body) -> None:
        """Add a function. Raises :class:`NotFound` for the database, :class:`AlreadyExists`, :class:`LimitExceeded`."""
        name = _name(definition)
        if not name:
            raise InvalidInput("FunctionName is missing.", remedy="Name the function in FunctionInput.")

        def add(functions: Mapping[str, Body]) -> Mapping[str, Body]:
            if name in functions:
                raise AlreadyExists(f"Function {name} already exists in database {database.lower()}.")
            if len(functions) >= _MOST:
                raise CatalogFull(f"functions in database {database.lower()}", _MOST)
            return {**functions, name: {**definition, "FunctionName": name, "CreateTime": self._now()}}

        self._store.change_details(_home(database), DetailKind.FUNCTION, add)

    def get(self, database: str, name: str) -> Body:
        """Return one function. Raises :class:`NotFound`."""
        body = self._store.details(_home(database), DetailKind.FUNCTION).get(name.lower())
        if body is None:
            raise FunctionNotFound(database.lower(), name.lower())
        return body

    def update(self, database: str, name: str, definition: Body) -> None:
        """Replace all but name and creation time. Raises :class:`NotFound`, and :class:`InvalidInput` for another name."""
        name = name.lower()
        if _name(definition) not in ("", name):
            raise InvalidInput(
                f"Function {name} cannot be renamed.", remedy="Create one with the new name and delete this one."
            )

        def change(functions: Mapping[str, Body]) -> Mapping[str, Body]:
            if name not in functions:
                raise FunctionNotFound(database.lower(), name)
            return {**functions, name: {**definition, "FunctionName": name, "CreateTime": functions[name]["CreateTime"]}}

        self._store.change_details(_home(database), DetailKind.FUNCTION, change)

    def delete(self, database: str, name: str) -> None:
        """Remove a function. Raises :class:`NotFound`."""
        missing = FunctionNotFound(database.lower(), name.lower())
        self._store.change_details(_home(database), DetailKind.FUNCTION, removal(name.lower(), missing))

    def page(
        self, pattern: str, *, limit: int, database: str | None = None, kind: str | None = None, token: str | None = None
    ) -> Page[tuple[str, Body]]:
        """Return up to ``limit`` functions whose names match ``pattern`` (:func:`name_matcher`), with their databases.

        They are those of ``database`` (None: all), by database and name. ``kind`` selects a FunctionType.
        Raises :class:`NotFound` for the database, :class:`InvalidInput` for the pattern.
        """
        matches = name_matcher(pattern)
        home = None if database is None else database.lower()
        if home is not None:
            self._store.details(_home(home), DetailKind.FUNCTION)

        def read(after: str | None, count: int) -> Sequence[tuple[str, Body]]:
            results: list[tuple[str, Body]] = []
            behind = None if after is None else tuple(after.split(_BEHIND, 1))
            if behind is not None and len(behind) != 2:
                raise InvalidToken
            while len(results) < count:
                batch = self._store.list_details(DetailKind.FUNCTION, database=home, after=behind, limit=_SCAN)
                matches_of = matches([name for _, name, _ in batch]) if batch else ()
                results += [
                    (of, body)
                    for (of, _, body), is_match in zip(batch, matches_of, strict=True)
                    if is_match and kind in (None, body.get("FunctionType"))
                ]
                if len(batch) < _SCAN:
                    break
                behind = batch[-1][:2]
            return results[:count]

        listing = f"functions:{home}:{kind}:{pattern}"

        def key(item: tuple[str, Body]) -> str:
            return f"{item[0]}{_BEHIND}{item[1]['FunctionName']}"

        return page(listing, token, limit, read, key, kind=str, weigh=weigh)


def _home(database: str) -> Home:
    return Home(database.lower())


def _name(definition: Body) -> str:
    return str(definition.get("FunctionName") or "").lower()

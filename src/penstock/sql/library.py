"""What the engine gets beside its own functions: SQL macros, and Python functions over Arrow; only what a query uses."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Any

import duckdb
from duckdb.func import FunctionNullHandling, PythonUDFType

from penstock.sql.functions.rows import Definition, Macro
from penstock.sql.functions.table import AREAS
from penstock.sql.patterns import matching

__all__ = ["definitions_of", "install"]

_DEFINITIONS: Mapping[str, Definition] = {
    definition.name: definition
    for modules in ((matching,), *AREAS.values())
    for module in modules
    for definition in module.DEFINITIONS
}
_NAME = re.compile(r"\btrino_\w+", re.IGNORECASE)


def install(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Create in ``connection`` every macro and function that ``sql`` names, and those that they name in turn.

    Those that are there already are left as they are.
    """
    for definition in definitions_of(sql):
        if isinstance(definition, Macro):
            connection.execute(definition.sql)
            continue
        parameters = definition.parameters
        with suppress(duckdb.NotImplementedException, duckdb.CatalogException):  # it exists
            connection.create_function(
                definition.name,
                _of_count(len(parameters), definition.function) if parameters is not None else definition.function,
                list(parameters) if parameters is not None else None,
                definition.returns,
                type=PythonUDFType.ARROW,
                null_handling=FunctionNullHandling.SPECIAL,
            )


def definitions_of(sql: str) -> Iterator[Definition]:
    """Yield the macros and functions that ``sql`` names, and before each of them those that it names in turn."""
    return _needed(sql, set())


def _needed(sql: str, seen: set[str]) -> Iterator[Definition]:
    for match in _NAME.finditer(sql):
        name = match[0].lower()
        definition = _DEFINITIONS.get(name)
        if definition is None or name in seen:
            continue
        seen.add(name)
        if isinstance(definition, Macro):
            yield from _needed(" ".join(definition.overloads), seen)
        yield definition


def _of_count(count: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with ``count`` parameters in its signature, which the engine reads."""

    def call(*columns: Any) -> Any:
        return function(*columns)

    parameters = [Parameter(f"column{number}", Parameter.POSITIONAL_ONLY) for number in range(count)]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call

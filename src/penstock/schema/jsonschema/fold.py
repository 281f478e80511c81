"""A fold over the schemas of a document: each is converted with the results of the schemas inside it."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.schema.jsonschema.document import Document, SchemaLocation
from penstock.schema.jsonschema.drafts import subschemas

__all__ = ["Inner", "fold_schemas"]

T = TypeVar("T")
Inner = Mapping[tuple[str, ...], T | None]
"""The results of the schemas inside one, by the steps that lead to them: ``("not",)``, ``("properties", "a")``."""


def fold_schemas(document: Document, make: Callable[[SchemaLocation, Inner[T]], T]) -> dict[int, T]:
    """Return the results of ``make`` for every schema of ``document`` that is a mapping, by its ``id``.

    Inner schemas come first, since the document lists them after the schema that contains them. An inner schema that was
    listed earlier, because a reference leads to it and no keyword does, is None for the schema that contains it.
    """
    results: dict[int, T] = {}
    for location in reversed(list(document.locations.values())):
        inner = {
            steps: results.get(id(schema))
            for steps, schema in subschemas(location.schema, location.draft)
            if isinstance(schema, dict)
        }
        results[id(location.schema)] = make(location, inner)
    return results

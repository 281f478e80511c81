"""A fold over the schemas of a document: what is made of each, given what was made of the schemas inside it."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from penstock.schema.jsonschema.document import Document, SchemaLocation
from penstock.schema.jsonschema.drafts import subschemas

__all__ = ["Inner", "fold_schemas"]

T = TypeVar("T")
Inner = Mapping[tuple[str, ...], T | None]
"""What was made of the schemas inside one, by the steps that lead to them: ``("not",)``, ``("properties", "a")``."""


def fold_schemas(document: Document, make: Callable[[SchemaLocation, Inner[T]], T]) -> dict[int, T]:
    """What ``make`` makes of every schema of ``document`` that is a mapping, by its ``id``.

    Schemas inside come first, since the document enters them behind what holds them. One that was entered before that, since
    a reference led to it where no keyword does, is None to what holds it.
    """
    made: dict[int, T] = {}
    for location in reversed(list(document.locations.values())):
        inner = {
            steps: made.get(id(schema))
            for steps, schema in subschemas(location.schema, location.draft)
            if isinstance(schema, dict)
        }
        made[id(location.schema)] = make(location, inner)
    return made

"""The supported drafts of JSON Schema, and the keywords by which a schema contains other schemas in each of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.schema.errors import InvalidSchema

__all__ = ["DRAFT_07", "HOLDERS_BY_NAME", "Draft", "draft_of", "since", "subschemas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One draft. ``year`` orders them: 4, 6, 7, 2019, 2020."""

    year: int
    uri: str
    validator: str

    @property
    def id_keyword(self) -> str:
        """The keyword that gives a schema its URI."""
        return "id" if self.year == 4 else "$id"

    @property
    def ref_stands_alone(self) -> bool:
        """Whether keywords beside ``$ref`` have no effect (up to draft 7)."""
        return self.year <= 7


DRAFT_07 = Draft(year=7, uri="http://json-schema.org/draft-07/schema", validator="Draft7Validator")
"""The draft of a definition without ``$schema``, as Glue and Confluent read it."""

_DRAFTS = (
    Draft(year=4, uri="http://json-schema.org/draft-04/schema", validator="Draft4Validator"),
    Draft(year=6, uri="http://json-schema.org/draft-06/schema", validator="Draft6Validator"),
    DRAFT_07,
    Draft(year=2019, uri="https://json-schema.org/draft/2019-09/schema", validator="Draft201909Validator"),
    Draft(year=2020, uri="https://json-schema.org/draft/2020-12/schema", validator="Draft202012Validator"),
)
_BY_NAME = {draft.uri.partition("://")[2]: draft for draft in _DRAFTS}

_ONE = {
    "additionalItems": 4,
    "additionalProperties": 4,
    "items": 4,
    "not": 4,
    "contains": 6,
    "propertyNames": 6,
    "if": 7,
    "then": 7,
    "else": 7,
    "contentSchema": 2019,
    "unevaluatedItems": 2019,
    "unevaluatedProperties": 2019,
}
_MANY = {"allOf": 4, "anyOf": 4, "oneOf": 4, "prefixItems": 2020}
_SINCE = {**_ONE, **_MANY, "const": 6, "dependentRequired": 2019, "dependentSchemas": 2019, "minContains": 2019}
_NAMED = {"properties": 4, "patternProperties": 4, "definitions": 4, "$defs": 4, "dependencies": 4, "dependentSchemas": 2019}
HOLDERS_BY_NAME = frozenset(_NAMED)
"""The keywords that contain schemas under names that the definition chooses."""

_HOLDERS = {**_ONE, **_MANY, **_NAMED}
_DEFINITIONS = ("definitions", "$defs")


def since(keyword: str) -> int:
    """Return the year of the first draft that has ``keyword``."""
    return _SINCE.get(keyword, 4)


def draft_of(schema: Any, *, default: Draft, path: str = "") -> Draft:
    """Return the draft that ``$schema`` names, else ``default``. Raise :class:`InvalidSchema` for an unsupported draft."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return default
    uri = schema["$schema"]
    if isinstance(uri, str):
        scheme, _, name = uri.strip().removesuffix("#").partition("://")
        if scheme in {"http", "https"} and name in _BY_NAME:
            return _BY_NAME[name]
    raise InvalidSchema(
        f"$schema {str(uri)[:100]!r} is not a supported draft.",
        path=f"{path}/$schema",
        remedy=f"Use one of {', '.join(draft.uri for draft in _DRAFTS)}, or omit $schema for draft 7.",
    )


def subschemas(schema: dict[str, Any], draft: Draft) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the schemas that ``schema`` contains under ``draft``, each with the tokens of the pointer to it."""
    alone = "$ref" in schema and draft.ref_stands_alone
    for keyword, value in schema.items():
        if keyword not in _HOLDERS or draft.year < _HOLDERS[keyword] or (alone and keyword not in _DEFINITIONS):
            continue
        if keyword in _NAMED:
            if isinstance(value, dict):
                yield from (((keyword, name), item) for name, item in value.items() if isinstance(item, (dict, bool)))
        elif isinstance(value, list):
            if keyword in _MANY or (keyword == "items" and draft.year < 2020):
                yield from (((keyword, str(index)), item) for index, item in enumerate(value))
        elif keyword not in _MANY and (keyword != "additionalItems" or draft.year < 2020):
            yield (keyword,), value

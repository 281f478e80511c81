"""A definition rewritten for the library, so that its syntax check is quick."""

import json
from typing import Any

from penstock.schema.errors import InvalidSchema
from penstock.schema.jsonschema.drafts import DRAFT_07, draft_of
from penstock.schema.jsonschema.library import without_repetitions

__all__ = ["for_library"]


def for_library(schema: Any, *, exact: bool) -> Any:
    """Return a copy of ``schema`` with canonical draft URIs and, unless ``exact``, with patterns that compile quickly."""
    return json.loads(json.dumps(schema), object_hook=_spell if exact else _rewrite)


def _rewrite(schema: dict[str, Any]) -> dict[str, Any]:
    pattern, patterns = schema.get("pattern"), schema.get("patternProperties")
    if isinstance(pattern, str):
        schema["pattern"] = without_repetitions(pattern)
    if isinstance(patterns, dict):
        schema["patternProperties"] = _patterns(patterns)
    return _spell(schema)


def _spell(schema: dict[str, Any]) -> dict[str, Any]:
    uri = schema.get("$schema")
    if isinstance(uri, str):
        schema["$schema"] = _draft_uri(uri)
    return schema


def _patterns(value: dict[str, Any]) -> dict[str, Any]:
    """Shorten the patterns, except two that would become equal: no schema must get lost."""
    copied: dict[str, Any] = {}
    for pattern, schema in value.items():
        short = without_repetitions(pattern)
        copied[pattern if short in copied or (short != pattern and short in value) else short] = schema
    return copied


def _draft_uri(uri: str) -> str:
    try:
        draft = draft_of({"$schema": uri}, default=DRAFT_07)
    except InvalidSchema:
        return uri
    return draft.uri + "#" if draft.ref_stands_alone else draft.uri

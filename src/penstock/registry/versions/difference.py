"""The difference of two versions as a JSON Patch, as AWS's API returns it, with the verdict on refused versions."""

import json
from collections.abc import Sequence
from typing import Any

from penstock.registry.model import Version
from penstock.registry.versions.definitions import Definitions
from penstock.registry.versions.patch import json_patch
from penstock.schema.errors import TooComplex
from penstock.schema.formats import format_of

__all__ = ["VERDICTS", "syntax_diff"]

VERDICTS = "penstock:refused"
"""Member of the first operation; by RFC 6902 clients that apply a patch ignore members that it does not define."""

_MAX_CHARS = 340_000  # SchemaDefinitionDiff in the Glue API model
_MAX_VERDICT_CHARS = 20_000


def syntax_diff(definitions: Definitions, first: Version, second: Version) -> str:
    """Return the JSON Patch from the first version's canonical form to the second's, as Glue's API describes it.

    Differences of formatting do not show. The first operation has the verdicts on refused versions, in :data:`VERDICTS`: a
    list of objects with ``version`` and ``verdict``. :class:`~penstock.schema.errors.TooComplex` beyond 340,000 characters.
    """
    old, new = (_document(definitions, version) for version in (first, second))
    verdicts = [_verdict(version) for version in dict.fromkeys((first, second)) if version.verdict is not None]
    text = _text(json_patch(old, new), old, verdicts)
    if len(text) > _MAX_CHARS:
        # If two have little in common, replacing the whole is shorter.
        text = _text([{"op": "replace", "path": "", "value": new}], old, verdicts)
    if len(text) > _MAX_CHARS:
        raise TooComplex(
            f"The difference of versions {first.number} and {second.number} takes {len(text):,} characters; "
            f"the limit is {_MAX_CHARS:,}.",
            remedy="Compare their definitions, which GetSchemaVersion answers: 'penstock schema diff' does.",
        )
    return text


def _document(definitions: Definitions, version: Version) -> Any:
    return format_of(version.data_format).document(definitions.of(version))


def _verdict(version: Version) -> dict[str, Any]:
    text = str(version.verdict)
    cut = text if len(text) <= _MAX_VERDICT_CHARS else f"{text[:_MAX_VERDICT_CHARS]}... (the rest is in the server's log)"
    return {"version": version.number, "verdict": cut}


def _text(patch: Sequence[dict[str, Any]], old: Any, verdicts: Sequence[dict[str, Any]]) -> str:
    if verdicts:
        first, *others = patch or [{"op": "test", "path": "", "value": old}]
        patch = [{**first, VERDICTS: verdicts}, *others]
    return json.dumps(patch, ensure_ascii=False, separators=(",", ":"))

"""The JSON Schema of pipelines as a document: the full form or the short one, with what the pages say about each key."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from penstock.pipelines.json_schema import recorded_schema
from penstock.pipelines.parse import declared
from penstock.pipelines.short import short_section

__all__ = ["FILE", "generated", "shipped"]

FILE = "pipeline.schema.json"


def generated() -> str:
    """Return the JSON Schema (draft 2020-12) that the parser implies, as text."""
    full = recorded_schema(lambda top: declared(top, Path("/"), origin="schema")).schema()
    # The parser refuses the short form with a message of its own, by these keys.
    full["properties"].pop("table", None)
    short = recorded_schema(short_section).schema()
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pipeline of penstock run",
        "if": {"required": ["table"]},
        "then": short,
        "else": full,
    }
    return json.dumps(document, indent=1) + "\n"


def shipped() -> str:
    """Return the JSON Schema that came with the package."""
    return resources.files("penstock.pipelines").joinpath(FILE).read_text(encoding="utf-8")

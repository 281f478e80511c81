"""The JSON Schema of pipelines as a document: the full form or the short one, with what the pages say about each key."""

import json
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from penstock.pipelines.json_schema import recorded_schema
from penstock.pipelines.parse import declared
from penstock.pipelines.short import short_section

__all__ = ["FILE", "generated", "shipped"]

FILE = "pipeline.schema.json"

_ROW = re.compile(r"^\| (?P<keys>`[^|]+) \|(?:(?P<default>[^|]*)\|)? (?P<meaning>(?:[^|]|\\\|)+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]+)]\([^)]*\)")


def generated(pages: Mapping[str, str]) -> str:
    """Return the JSON Schema (draft 2020-12) that the parser implies, as text.

    ``pages`` are the texts of docs/pipelines by their names; their tables describe the keys.
    """
    full = _copied(recorded_schema(lambda top: declared(top, Path("/"), origin="schema")).schema())
    # The parser refuses the short form with a message of its own, by these keys.
    full["properties"].pop("table", None)
    short = _copied(recorded_schema(short_section).schema())
    document: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pipeline of penstock run",
        "if": {"required": ["table"]},
        "then": short,
        "else": full,
    }
    for branch in ("then", "else"):
        _describe(document[branch], "", pages)
    # One definition of all sinks, which the full form has twice.
    sink = full["properties"]["sink"]
    document["$defs"] = {"sink": {name: value for name, value in sink.items() if name != "description"}}
    reference = {"$ref": "#/$defs/sink"}
    full["properties"]["sinks"]["additionalProperties"] = reference
    full["properties"]["sink"] = {"description": sink["description"], **reference} if "description" in sink else reference
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _copied(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without parts that are one object in several places, so that each can be described."""
    copy: dict[str, Any] = json.loads(json.dumps(schema))
    return copy


def _described(text: str, heading: str | None = None) -> dict[str, str]:
    """Return key to meaning of the tables whose first cells name keys, below headings that name ``heading`` in code.

    An empty one stands for headings without code, None for all. Of a key in several tables the first one counts.
    """
    meanings: dict[str, str] = {}
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        named = re.findall(r"`([^`]+)`", part.partition("\n")[0]) or [""]
        if heading is not None and heading not in named:
            continue
        for row in _ROW.finditer(part):
            meaning = _LINK.sub(r"\1", row["meaning"]).replace("`", "").replace("\\|", "|").strip()
            default = (row["default"] or "").replace("`", "").strip()
            description = f"{meaning}." + (f" Default: {default}." if default not in {"", "–"} else "")
            for key in re.findall(r"`([^`]+)`", row["keys"]):
                meanings.setdefault(key, description)
    return meanings


def _meaning(path: str, pages: Mapping[str, str]) -> str | None:
    """Return what the pages say about the key with a path such as ``source.kafka.topic``."""
    section, _, name = path.rpartition(".")
    match section.split("."):
        case [""]:
            return _described(pages.get("pipelines.md", ""), "").get(name)
        case ["transform"] | ["transform", "expect" | "expectations"]:
            return _described(pages.get("transforms.md", "")).get(name)
        case ["source" | "sink" as side, kind]:
            own = _described(pages.get(f"{side}-{kind}.md", ""))
            return own.get(name) or _described(pages.get("pipelines.md", ""), side).get(name)
        case [top]:
            main = pages.get("pipelines.md", "")
            return _described(main).get(path) or _described(main, top).get(name)
        case _:
            return None


def _describe(schema: dict[str, Any], path: str, pages: Mapping[str, str]) -> None:
    """Add descriptions to the keys of a mapping."""
    if isinstance(schema.get("additionalProperties"), dict):
        _describe(schema["additionalProperties"], path, pages)
    for name, value in schema.get("properties", {}).items():
        inner = f"{path}.{name}" if path else name
        meaning = _meaning(inner, pages)
        if meaning is not None and "description" not in value:
            value["description"] = meaning
        for item in [value, *value.get("anyOf", ()), value.get("items", {})]:
            _describe(item, inner, pages)


def shipped() -> str:
    """Return the JSON Schema that came with the package."""
    return resources.files("penstock.pipelines").joinpath(FILE).read_text(encoding="utf-8")

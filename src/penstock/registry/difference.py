"""The difference of two versions as text that one can read, and why a refused one was refused."""

from collections.abc import Iterator
from difflib import unified_diff

from penstock.registry.definitions import Definitions
from penstock.registry.model import Version
from penstock.schema.formats import format_of

__all__ = ["syntax_diff"]

_MAX_CHARS = 340_000  # SchemaDefinitionDiff in the Glue API model


def syntax_diff(definitions: Definitions, first: Version, second: Version) -> str:
    """A unified diff of the canonical forms, one attribute a line.

    Lines with ``#`` before it give the verdict on each refused version; tools that read diffs skip them. Differences of
    spelling alone do not show.
    """
    lines: list[str] = []
    for version in dict.fromkeys((first, second)):
        if version.verdict is not None:
            text = f"Version {version.number} was refused. {version.verdict}"
            lines.extend(f"# {line}" for line in text.splitlines())
    old, new = (_pretty(definitions, version) for version in (first, second))
    body = list(unified_diff(old, new, f"version {first.number}", f"version {second.number}", lineterm=""))
    lines.extend(body or [f"--- version {first.number}", f"+++ version {second.number}"])
    return "\n".join(_bounded(lines))


def _pretty(definitions: Definitions, version: Version) -> list[str]:
    return format_of(version.data_format).pretty(definitions.of(version)).splitlines()


def _bounded(lines: list[str]) -> Iterator[str]:
    left = _MAX_CHARS - 40
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            yield "# The rest is too long to show."
            return
        yield line

"""Reads the examples of a page docs/registry/compatibility-FORMAT.md and holds them against the format.

An example is a fenced block ``old`` and a fenced block ``new`` with one or more claims behind them, each on its line::

    BACKWARD: compatible
    FORWARD (Glue): REQUIRED_ATTRIBUTE_ADDED at /required, TYPE_CHANGED at /properties/a
    - `FULL_ALL (Confluent): NAME_MISMATCH at /`

A claim without an API's name holds for both APIs. A claim lists all findings, a rule once for each path it is found at.
Fenced blocks ``reference NAME`` before ``old`` are registered definitions that both sides may refer to by that name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.schema.compatibility import CompatibilityMode, check
from penstock.schema.format import ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES

__all__ = ["DOCS", "Claim", "claims", "findings", "read_claims"]

DOCS = Path(__file__).resolve().parents[3] / "docs" / "registry"

_APIS = {"Glue": GLUE_RULES, "Confluent": CONFLUENT_RULES}
_FENCE = re.compile(r"^```(old|new|reference (\S+))[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_OTHER_FENCE = re.compile(r"^```(?!old\b|new\b|reference ).*?^```[ \t]*$", re.MULTILINE | re.DOTALL)
_CLAIM = re.compile(rf"^(?:[-*] )?`?({'|'.join(CompatibilityMode)})(?: \(([A-Za-z]+)\))?: (.+?)`?$", re.MULTILINE)
_FINDING = re.compile(r"([A-Z][A-Z0-9_]*) at (\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One line of a page. ``findings`` are (rule, path) and empty for "compatible"; ``line`` counts from 1."""

    data_format: str
    line: int
    mode: CompatibilityMode
    api: str
    old: str
    new: str
    references: tuple[ReferencedText, ...]
    findings: frozenset[tuple[str, str]]

    def __str__(self) -> str:
        return f"{self.data_format}-line-{self.line}-{self.mode}-{self.api}"


def claims() -> list[Claim]:
    """Every claim of every page."""
    return [
        claim
        for page in sorted(DOCS.glob("compatibility-*.md"))
        for claim in read_claims(page.read_text(encoding="utf-8"), page.stem.removeprefix("compatibility-").upper())
    ]


def read_claims(text: str, data_format: str) -> list[Claim]:
    """The claims of one page; :class:`ValueError` for an example that lacks a side or a claim."""
    references: list[ReferencedText] = []
    sides: dict[str, str] = {}
    read: list[Claim] = []
    claimed = True
    for match, line in _steps(text):
        if match.re is _CLAIM:
            if set(sides) != {"old", "new"}:
                raise ValueError(f"line {line}: a claim without an old and a new definition before it")
            read.extend(_claim(match, line, data_format, sides, tuple(references)))
            claimed = True
        else:
            if claimed:
                references, sides = [], {}
            claimed = False
            if match[1] in sides:
                raise ValueError(f"line {line}: an example before this one claims nothing")
            if match[2]:
                references.append(ReferencedText(name=match[2], text=match[3]))
            else:
                sides[match[1]] = match[3]
    if not claimed:
        raise ValueError("the last example claims nothing")
    return read


def findings(claim: Claim) -> frozenset[tuple[str, str]]:
    """What the format finds in place of what the page claims."""
    data_format = format_of(claim.data_format)
    old = data_format.parse(claim.old, claim.references)
    new = data_format.parse(claim.new, claim.references)
    verdict = check(data_format, claim.mode, new, [(1, old)], _APIS[claim.api])
    return frozenset((item.incompatibility.rule, item.incompatibility.path) for item in verdict.conflicts)


def _steps(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Definitions and claims in the page's order, with their lines; what other fenced blocks show is neither."""
    other = [match.span() for match in _OTHER_FENCE.finditer(_FENCE.sub(lambda match: " " * len(match[0]), text))]
    fences = list(_FENCE.finditer(text))
    hidden = [*other, *(match.span() for match in fences)]
    lines = [match for match in _CLAIM.finditer(text) if not any(start <= match.start() < end for start, end in hidden)]
    for match in sorted([*fences, *lines], key=lambda item: item.start()):
        yield match, text.count("\n", 0, match.start()) + 1


def _claim(
    match: re.Match[str], line: int, data_format: str, sides: dict[str, str], references: tuple[ReferencedText, ...]
) -> Iterator[Claim]:
    if match[2] is not None and match[2] not in _APIS:
        raise ValueError(f"line {line}: no API is named {match[2]}")
    results = frozenset((item[1], item[2].rstrip(",`")) for item in _FINDING.finditer(match[3]))
    if not results and match[3] != "compatible":
        raise ValueError(f"line {line}: neither 'compatible' nor 'RULE at PATH': {match[3]}")
    for api in [match[2]] if match[2] else _APIS:
        yield Claim(
            data_format=data_format,
            line=line,
            mode=CompatibilityMode(match[1]),
            api=api,
            old=sides["old"],
            new=sides["new"],
            references=references,
            findings=results,
        )

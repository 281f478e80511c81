"""Rules about types, lists of values, numbers and strings: a reader's requirements compared with a writer's values.

The names of the rules are those of Confluent's registry.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from heapq import nsmallest

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.compatibility.facts import Facts, value_obeys
from penstock.schema.jsonschema.model import ALL_TYPES, Bound, Node, type_names, value_key

__all__ = ["finding", "limit", "scalar_findings", "type_findings"]

_ANYTHING = frozenset({"", ".*", "^", "$"})


def finding(path: str, rule: str, reader: str, writer: str, message: str) -> Incompatibility:
    """Return a finding at ``path``; the whole schema is ``/``."""
    return Incompatibility(path=path or "/", rule=rule, reader=reader, writer=writer, message=message)


def type_findings(part: Node, facts: Facts, path: str) -> list[Incompatibility]:
    """Return findings for types and values that the writer has and the reader lacks."""
    if part.values is not None:
        return list(_values(part, facts, path))
    types = facts.implied
    missing = types - part.types
    if not missing:
        return []
    overlap = types & part.types and types != ALL_TYPES
    accepted = type_names(part.types)
    return [
        finding(
            path,
            "TYPE_NARROWED" if overlap else "TYPE_CHANGED",
            accepted,
            facts.describe(),
            f"the writer's values can be {type_names(missing) if types != ALL_TYPES else 'of any type'} "
            f"and the reader accepts {accepted} only. "
            f"Let the reader accept {type_names(missing | part.types)} too, or put the new type under a new name.",
        )
    ]


def scalar_findings(part: Node, facts: Facts, path: str) -> list[Incompatibility]:
    """Return findings for bounds, lengths and patterns that the reader requires and the writer's values may break."""
    if not part.limits_scalars:
        return []
    if facts.values is not None and all(value_obeys(value, part) is True for value in facts.values):
        return []
    findings: list[Incompatibility] = []
    if facts.types & {"integer", "fraction"}:
        findings.extend(_bound(part.lower, facts.lower, path, "MINIMUM"))
        findings.extend(_bound(part.upper, facts.upper, path, "MAXIMUM"))
        findings.extend(_multiples(part, facts, path))
    if "string" in facts.types:
        findings.extend(limit(path, "minLength", part.min_length or None, facts.min_length or None, least=True))
        findings.extend(limit(path, "maxLength", part.max_length, facts.max_length, least=False))
        findings.extend(_pattern(part, facts, path))
    return findings


def limit(path: str, keyword: str, ours: int | None, theirs: int | None, *, least: bool) -> Iterator[Incompatibility]:
    """Yield a finding if the reader's minimum or maximum is tighter than the writer's. None means no limit."""
    if ours is None or (theirs is not None and (theirs >= ours if least else theirs <= ours)):
        return
    name = "".join(f"_{letter}" if letter.isupper() else letter for letter in keyword).upper()
    change = "ADDED" if theirs is None else "INCREASED" if least else "DECREASED"
    allowed = "no limit" if theirs is None else f"{keyword} {theirs}"
    yield finding(
        f"{path}/{keyword}",
        f"{name}_{change}",
        f"{keyword} {ours}",
        allowed,
        f"the reader requires {keyword} {ours} and the writer has {allowed}. "
        + (f"Remove {keyword}." if theirs is None else f"Keep {keyword} {'at most' if least else 'at least'} {theirs}."),
    )


def _values(part: Node, facts: Facts, path: str) -> Iterator[Incompatibility]:
    listed = part.value_keys
    keyword = "enum" if "enum" in part.raw else "const"
    shown = f"{keyword} {_shorten(listed)}"
    if facts.values is None:
        if not facts.types & part.types:
            yield finding(
                path,
                "TYPE_CHANGED",
                shown,
                facts.describe(),
                f"the writer's values are {facts.describe()} and the reader accepts {_shorten(listed)} only. Keep the type.",
            )
            return
        yield finding(
            f"{path}/{keyword}",
            "ENUM_ARRAY_NARROWED",
            shown,
            facts.describe(),
            f"the writer's values are not limited to a list and the reader accepts {_shorten(listed)} only. "
            f"Remove {keyword}.",
        )
        return
    written = frozenset(map(value_key, facts.values))
    missing = written - listed
    if missing:
        yield finding(
            f"{path}/{keyword}",
            "ENUM_ARRAY_CHANGED" if listed - written else "ENUM_ARRAY_NARROWED",
            shown,
            f"enum {_shorten(written)}",
            f"the reader does not accept {_shorten(missing)}, which the writer may write. Keep these values in {keyword}.",
        )


@lru_cache(maxsize=8)
def _shorten(keys: frozenset[str]) -> str:
    # Cached, because each question about a long list would sort it again.
    shown = ", ".join(key[:60] for key in nsmallest(20, keys))
    return f"{shown}, ..." if len(keys) > 20 else shown


def _bound(ours: Bound | None, theirs: Bound | None, path: str, name: str) -> Iterator[Incompatibility]:
    if ours is None or (theirs is not None and not _tighter(ours, theirs, least=name == "MINIMUM")):
        return
    rule = ("EXCLUSIVE_" if ours.keyword.startswith("exclusive") else "") + name
    change = "ADDED" if theirs is None else "INCREASED" if name == "MINIMUM" else "DECREASED"
    written = f"{theirs.keyword} {_number(theirs.value)}" if theirs else "no bound"
    yield finding(
        f"{path}/{ours.keyword}",
        f"{rule}_{change}",
        f"{ours.keyword} {_number(ours.value)}",
        written,
        f"the reader requires {ours.keyword} {_number(ours.value)} and the writer has {written}. "
        + (f"Keep {written}, or loosen it." if theirs else f"Remove {ours.keyword}."),
    )


def _tighter(ours: Bound, theirs: Bound, *, least: bool) -> bool:
    if ours.value == theirs.value:
        return ours.strict and not theirs.strict
    return ours.value > theirs.value if least else ours.value < theirs.value


def _multiples(part: Node, facts: Facts, path: str) -> Iterator[Incompatibility]:
    for ours in part.multiples:
        if not ours or any((theirs / ours).denominator == 1 for theirs in facts.multiples):
            continue
        declared = [number for node in facts.nodes for number in node.multiples]
        change = "ADDED" if not declared else "EXPANDED" if (ours / declared[0]).denominator == 1 else "CHANGED"
        written = f"multipleOf {_number(declared[0])}" if declared else "no multipleOf"
        yield finding(
            f"{path}/multipleOf",
            f"MULTIPLE_OF_{change}",
            f"multipleOf {_number(ours)}",
            written,
            f"the reader requires multiples of {_number(ours)} and the writer has {written}. "
            + (f"Keep a number that divides {_number(declared[0])}." if declared else "Remove multipleOf."),
        )


def _pattern(part: Node, facts: Facts, path: str) -> Iterator[Incompatibility]:
    pattern = part.pattern
    if pattern is None or pattern in facts.patterns or pattern in _ANYTHING:
        return
    written = " and ".join(f"pattern {item[:100]}" for item in sorted(facts.patterns)) or "no pattern"
    yield finding(
        f"{path}/pattern",
        "PATTERN_CHANGED" if facts.patterns else "PATTERN_ADDED",
        f"pattern {pattern[:100]}",
        written,
        f"the reader requires strings that match {pattern[:100]} and the writer has {written}. "
        "Keep the pattern as it was; two regular expressions are not compared.",
    )


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))

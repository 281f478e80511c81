"""The reasons why a document that is valid under a writer's JSON Schema may be invalid under a reader's.

Each requirement of the reader is compared with the known facts of all the writer's values. If that does not suffice, the
writer's alternatives (anyOf, oneOf, if, enum, types) are compared one by one. Identical schemas are not walked.
"""

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.compatibility.arrays import array_findings
from penstock.schema.jsonschema.compatibility.combined import (
    alternatives,
    combined_findings,
    is_empty,
    may_contradict,
    unevaluated_findings,
)
from penstock.schema.jsonschema.compatibility.engine import MAX_FINDINGS, Ask, Comparison, Findings, Rule
from penstock.schema.jsonschema.compatibility.facts import Facts
from penstock.schema.jsonschema.compatibility.identity import Identity
from penstock.schema.jsonschema.compatibility.objects import object_findings
from penstock.schema.jsonschema.compatibility.scalars import finding, scalar_findings, type_findings
from penstock.schema.jsonschema.model import FALSE, TRUE, JsonSchema, Node
from penstock.schema.rules import JsonRules

__all__ = ["incompatibilities"]

_TYPE_RULES = frozenset({"TYPE_CHANGED", "TYPE_NARROWED"})


def incompatibilities(reader: JsonSchema, writer: JsonSchema, rules: JsonRules) -> list[Incompatibility]:
    """Return why ``reader`` does not accept all that ``writer`` accepts; empty if it does.

    Raise :class:`~penstock.schema.errors.TooComplex` for pairs that would take too long.
    """
    identity = Identity(reader.document, writer.document)
    comparison = Comparison(rules=rules, identity=identity, writer=writer.document, answer=_answer)
    findings = comparison.run(Ask("covers", reader.root, (writer.root,)))
    return _once(findings)[:MAX_FINDINGS]


def _once(findings: Findings) -> list[Incompatibility]:
    """Return each rule once per path; of two about a path's type only the first, which is about all the writer's values."""
    unique: dict[tuple[str, str], Incompatibility] = {}
    for incompatibility in findings:
        unique.setdefault(
            (incompatibility.path, "TYPE" if incompatibility.rule in _TYPE_RULES else incompatibility.rule), incompatibility
        )
    return list(unique.values())


def _answer(comparison: Comparison, ask: Ask) -> Rule:
    if ask.claim == "empty":
        return is_empty(comparison, ask)
    return _covers(comparison, ask) if ask.claim == "covers" else _part(comparison, ask)


def _covers(comparison: Comparison, ask: Ask) -> Rule:
    facts = comparison.facts(ask.nodes)
    comparison.spend((len(ask.nodes) + len(facts.nodes)) // 4)
    if facts.empty or any(comparison.identity.same(ask.node, node) for node in (*ask.nodes, *facts.nodes)):
        return []
    if ask.node is FALSE:
        if not (yield Ask("empty", TRUE, ask.nodes)):
            return []
        message = "the reader accepts no value here and the writer has values. Remove the false."
        return [finding(ask.path, "TYPE_CHANGED", "nothing", facts.describe(), message)]
    findings = list((yield Ask("part", ask.node, ask.nodes, ask.path)))
    for step, node in ask.node.in_place:
        findings.extend((yield Ask("covers", node, ask.nodes, ask.path + step)))
    return findings


def _part(comparison: Comparison, ask: Ask) -> Rule:
    """Compare the reader's own keywords with all of the writer's values, and if they break, with each case."""
    facts = comparison.facts(ask.nodes)
    if facts.empty:
        return []
    findings = yield from _own_findings(comparison, ask.node, facts, ask)
    if not findings:
        return []
    cases = alternatives(comparison, ask.node, facts)
    if cases is None:
        return findings if not may_contradict(facts) or (yield Ask("empty", TRUE, ask.nodes)) else []
    by_case: list[Incompatibility] = []
    for case in cases:
        by_case.extend((yield Ask("part", ask.node, (*ask.nodes, *case), ask.path)))
        if by_case and comparison.pressed:
            break
    if not by_case:
        return []
    types = [item for item in findings if item.rule in _TYPE_RULES and item.path == (ask.path or "/")]
    return [*types, *by_case]


def _own_findings(comparison: Comparison, part: Node, facts: Facts, ask: Ask) -> Rule:
    findings = type_findings(part, facts, ask.path)
    if findings:
        return findings
    choosing = facts
    facts = facts.within(part.types)
    comparison.spend(len(facts.values or ()) * (part.limits_scalars or part.values is not None))
    findings = scalar_findings(part, facts, ask.path)
    if "object" in facts.types:
        findings.extend((yield from object_findings(comparison, part, facts, ask)))
    if "array" in facts.types:
        findings.extend((yield from array_findings(comparison, part, facts, ask.path)))
    findings.extend((yield from combined_findings(comparison, part, choosing, ask)))
    findings.extend(unevaluated_findings(part, facts, ask.path))
    return findings

"""Rules about combined schemas: anyOf, oneOf, not, if, and the alternatives of a writer one by one."""

from collections.abc import Iterator

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.compatibility.engine import Ask, Comparison, Rule
from penstock.schema.jsonschema.compatibility.facts import Facts
from penstock.schema.jsonschema.compatibility.scalars import finding
from penstock.schema.jsonschema.model import TRUE, Node, describe_types, value_key

__all__ = ["alternatives", "combined_findings", "is_empty", "may_contradict", "unevaluated_findings"]

_MAX_VALUES = 300
_MAX_EXCLUDED = 12
_MAX_PAIRS = 400
_MAX_NEEDED_ITEMS = 20


def combined_findings(comparison: Comparison, part: Node, facts: Facts, ask: Ask) -> Rule:
    """Return the requirements of the combined schemas in ``part`` that the writer's values may break."""
    findings: list[Incompatibility] = []
    for keyword in ("anyOf", "oneOf"):
        if part.several(keyword):
            findings.extend((yield from _choice(comparison, part, keyword, facts, ask)))
    negated = part.child("not")
    if negated is not None and (yield Ask("empty", TRUE, (*ask.nodes, negated))):
        text = f"not {describe_types(negated)}"
        message = "the reader refuses values that the writer may write. Keep not as it was, or let it refuse less."
        findings.append(finding(f"{ask.path}/not", "NOT_TYPE_EXTENDED", text, facts.describe(), message))
    if part.child("if") is not None:
        findings.extend((yield from _condition(comparison, part, facts, ask)))
    return findings


def alternatives(comparison: Comparison, part: Node, facts: Facts) -> Iterator[tuple[Node, ...]] | None:
    """Return the cases of the writer's values, each as schemas to add, or None if there is only one case.

    There is at least one. They are made lazily, since the first one answers most questions.
    """
    for choice in facts.choices:
        branches = choice.branches
        if choice.exclusive and len(branches) <= _MAX_EXCLUDED:
            return (
                (branch, *(comparison.negation(other) for other in branches if other is not branch)) for branch in branches
            )
        return ((branch,) for branch in branches)
    for node in facts.conditional:
        case = _open_condition(comparison, node, facts)
        if case is not None:
            return iter(case)
    applies = bool(part.raw.keys() & {"anyOf", "oneOf", "not", "if"})
    structured = applies or bool(facts.types & {"array", "object"})
    if facts.values is not None and structured and 1 < len(facts.values) <= _MAX_VALUES:
        return ((comparison.constant(value, value_key(value)),) for value in facts.values)
    if applies and len(facts.types) > 1 and facts.values is None:
        return _by_type(comparison, facts)
    return None


def _by_type(comparison: Comparison, facts: Facts) -> Iterator[tuple[Node, ...]]:
    return ((comparison.of_types(frozenset({name})),) for name in sorted(facts.types))


def _open_condition(comparison: Comparison, node: Node, facts: Facts) -> list[tuple[Node, ...]] | None:
    """Return the two cases of if, unless one of them applies already."""
    condition, then, otherwise = node.child("if"), node.child("then") or TRUE, node.child("else") or TRUE
    if condition is None:
        return None
    refused = comparison.negation(condition)
    node_ids = {id(part) for part in facts.nodes}
    if id(condition) in node_ids or id(refused) in node_ids or condition is TRUE:
        return None
    return [(condition, then), (refused, otherwise)]


def _choice(comparison: Comparison, part: Node, keyword: str, facts: Facts, ask: Ask) -> Rule:
    branches = part.several(keyword)
    exclusive = keyword == "oneOf" and (comparison.rules.exclusive_branches or _was_no_choice_of_one(facts))
    if _same_choice(comparison, part, keyword, facts):
        return []
    nearest: tuple[Incompatibility, ...] = ()
    overlapping: Node | None = None
    candidates = list(_candidates(comparison, part, keyword, facts))
    if len(candidates) * max((len(choice.branches) for choice in facts.choices), default=0) > _MAX_PAIRS:
        # The caller compares the writer's alternatives one by one, and each then has few candidates.
        return [_uncovered(branches, facts, f"{ask.path}/{keyword}", (), None)]
    for index, branch in candidates:
        if not facts.implied <= branch.types:
            continue
        inner = yield Ask("covers", branch, ask.nodes, f"{ask.path}/{keyword}/{index}")
        if inner:
            nearest = inner if not nearest or len(inner) < len(nearest) else nearest
            continue
        if not exclusive:
            return []
        overlapping = None
        for other_index, other in candidates:
            if other_index != index and (yield Ask("empty", TRUE, (*ask.nodes, other))):
                overlapping = other
                break
        if overlapping is None:
            return []
    return [_uncovered(branches, facts, f"{ask.path}/{keyword}", nearest, overlapping)]


def _was_no_choice_of_one(facts: Facts) -> bool:
    """Return whether the writer combines schemas without oneOf, so that several alternatives may accept a value.

    Source: CombinedSchemaDiff of Confluent's registry, which refuses a oneOf for an anyOf or allOf of several schemas. It
    takes a list of types for an anyOf. Here the change passes if the alternatives are proven to exclude each other.
    """
    several = False
    for node in facts.nodes:
        if node.several("oneOf"):
            return False
        listed_types = node.raw.get("type")
        several = several or len(node.several("anyOf")) > 1 or len(node.several("allOf")) > 1
        several = several or (isinstance(listed_types, list) and len(listed_types) > 1)
    return several


def _same_choice(comparison: Comparison, part: Node, keyword: str, facts: Facts) -> bool:
    """Return whether the writer has the same alternatives, in any order."""
    ours = comparison.choice(part, keyword)
    return ours is not None and any(comparison.choice(node, keyword) == ours for node in facts.nodes)


def _candidates(comparison: Comparison, part: Node, keyword: str, facts: Facts) -> Iterator[tuple[int, Node]]:
    """Yield the branches that may accept some of the writer's values; for a single value, only its own."""
    branches = part.several(keyword)
    if facts.values is not None and len(facts.values) == 1:
        by_value = part.branches_by_value(keyword)
        indexes = sorted({*by_value.get(value_key(facts.values[0]), ()), *by_value.get("", ())})
    else:
        indexes = list(range(len(branches)))
        comparison.spend(len(indexes))
    for index in indexes:
        if facts.types & branches[index].types and not _apart(facts, branches[index]):
            yield index, branches[index]


def _apart(facts: Facts, branch: Node) -> bool:
    """Return whether a property that both require has disjoint lists of values, so that the two exclude each other."""
    for name in branch.required if facts.types == {"object"} and branch.types == {"object"} else ():
        listed = branch.properties.get(name, TRUE)
        if listed.values is not None and name in facts.required:
            theirs = (node.value_keys for node in facts.property(name) if node.values is not None)
            if any(listed.value_keys.isdisjoint(keys) for keys in theirs):
                return True
    return False


def _uncovered(
    branches: tuple[Node, ...],
    facts: Facts,
    where: str,
    nearest: tuple[Incompatibility, ...],
    overlapping: Node | None,
) -> Incompatibility:
    keyword = where.rpartition("/")[2]
    theirs = {word: len(node.several(word)) for node in facts.nodes for word in ("anyOf", "oneOf") if node.several(word)}
    reader = f"{keyword} of {len(branches)}"
    writer = ", ".join(f"{word} of {count}" for word, count in theirs.items()) or facts.describe()
    if overlapping is not None:
        message = (
            f"oneOf accepts a value that exactly one schema accepts, and a value of the writer ({facts.describe()}) may be "
            f"accepted by a second one ({describe_types(overlapping)}). Use anyOf, or make the schemas exclude each other "
            "by type or by a required property with a const."
        )
        return finding(where, "COMBINED_TYPE_SUBSCHEMAS_CHANGED", reader, writer, message)
    rule = "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
    if theirs.get(keyword, 0) > len(branches):
        rule = "SUM_TYPE_NARROWED"
    elif theirs and keyword not in theirs:
        rule = "COMBINED_TYPE_CHANGED"
    elif not theirs and not nearest:
        rule = "TYPE_CHANGED"
    message = f"none of the reader's {len(branches)} alternatives accepts the writer's {facts.describe()}. "
    message += f"The nearest: {nearest[0]}" if nearest else "Add an alternative that accepts it."
    return finding(where, rule, reader, writer, message)


def _condition(comparison: Comparison, part: Node, facts: Facts, ask: Ask) -> Rule:
    """Compare both cases of if, each with the writer's schema for the same condition."""
    condition = part.child("if") or TRUE
    same = [node for node in facts.conditional if comparison.identity.same(node.child("if") or TRUE, condition)]
    findings: list[Incompatibility] = []
    for keyword, case in (("then", condition), ("else", comparison.negation(condition))):
        node = part.child(keyword)
        if node is not None:
            theirs = [other for node_of_same in same if (other := node_of_same.child(keyword)) is not None]
            findings.extend((yield Ask("covers", node, (*ask.nodes, case, *theirs), f"{ask.path}/{keyword}")))
    return findings


def unevaluated_findings(part: Node, facts: Facts, path: str) -> list[Incompatibility]:
    """Report ``unevaluated...`` beside combined schemas, which is compared only as a whole and differs."""
    findings = []
    for keyword, json_type in (("unevaluatedProperties", "object"), ("unevaluatedItems", "array")):
        node = part.child(keyword)
        compared = keyword == "unevaluatedProperties" and part.unevaluated_is_plain
        if node is not None and node is not TRUE and json_type in facts.types and part.applicators and not compared:
            message = f"a schema with {keyword} beside combined schemas is compared as a whole, and it changed. Keep it."
            findings.append(
                finding(f"{path}/{keyword}", "COMBINED_TYPE_SUBSCHEMAS_CHANGED", keyword, "another schema", message)
            )
    return findings


def is_empty(comparison: Comparison, ask: Ask) -> Rule:
    """Return nothing if all schemas together provably accept no value, else a finding."""
    facts = comparison.facts(ask.nodes)
    if facts.empty:
        return []
    for node in facts.negated:
        if not (yield Ask("covers", node, ask.nodes)):
            return []
    for written in _needed(facts):
        if len(written) > 1 and not (yield Ask("empty", TRUE, written, inside=True)):
            return []
    cases = alternatives(comparison, TRUE, facts)
    if cases is None and len(facts.types) > 1 and facts.types & {"object", "array"} and facts.values is None:
        cases = _by_type(comparison, facts)
    if cases is None:
        return [_NOT_EMPTY]
    for case in cases:
        if (yield Ask("empty", TRUE, (*ask.nodes, *case))):
            return [_NOT_EMPTY]
    return []


def may_contradict(facts: Facts) -> bool:
    """Return whether further checks could prove that all schemas together accept no value; one plain schema accepts some."""
    return bool(facts.negated or facts.choices or facts.conditional or len(facts.nodes) > 1)


def _needed(facts: Facts) -> list[tuple[Node, ...]]:
    """Return the schemas of the properties, or of the first items, that every value must have."""
    if facts.types == {"object"}:
        return [facts.property(name) for name in sorted(facts.required)]
    if facts.types == {"array"}:
        return [facts.item(index) for index in range(min(facts.min_items, _MAX_NEEDED_ITEMS))]
    return []


_NOT_EMPTY = finding("", "COMBINED_TYPE_SUBSCHEMAS_CHANGED", "", "", "values may be accepted by both.")

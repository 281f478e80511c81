"""Rules about arrays: counts, listed items, the items after them, and required items (contains)."""

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.compatibility.engine import Ask, Comparison, Rule
from penstock.schema.jsonschema.compatibility.facts import Facts
from penstock.schema.jsonschema.compatibility.scalars import finding, limit
from penstock.schema.jsonschema.model import FALSE, TRUE, Node, describe_types

__all__ = ["array_findings"]

_ADDITIONAL = "additionalItems"


def array_findings(comparison: Comparison, part: Node, facts: Facts, path: str) -> Rule:
    """Return the requirements of ``part`` on arrays that the writer's arrays may break."""
    findings = list(limit(path, "minItems", part.min_items or None, facts.min_items or None, least=True))
    most = _most(facts)
    findings.extend(limit(path, "maxItems", part.max_items, most, least=False))
    if part.unique and not facts.unique and (most is None or most > 1):
        message = "the reader requires unique items and the writer does not. Remove uniqueItems."
        findings.append(finding(f"{path}/uniqueItems", "UNIQUE_ITEMS_ADDED", "uniqueItems", "no uniqueItems", message))
    if part.prefix or part.rest is not TRUE:
        findings.extend((yield from _items(comparison, part, facts, path, most)))
    if comparison.keywords_alone and part.rest_keyword != _ADDITIONAL and part.has_additional_items:
        findings.extend((yield from _additional_alone(part, facts, f"{path}/{_ADDITIONAL}")))
    findings.extend((yield from _contains(part, facts, path)))
    return findings


def _additional_alone(part: Node, facts: Facts, where: str) -> Rule:
    """Compare ``additionalItems`` without a list of items before them, which limit no array."""
    node = part.child(_ADDITIONAL) or TRUE
    theirs = [other.child(_ADDITIONAL) or TRUE for other in facts.nodes if other.has_additional_items]
    written = tuple(item for item in theirs if item is not TRUE)
    inner = yield Ask("covers", node, written, where, inside=True)
    return _less_additional(node, written, where, _ADDITIONAL) if inner and not written else list(inner)


def _most(facts: Facts) -> int | None:
    """Return the greatest number of items in the writer's arrays."""
    closed = [len(node.prefix) for node in facts.nodes if node.rest is FALSE]
    return min([*closed, *([] if facts.max_items is None else [facts.max_items])], default=None)


def _items(comparison: Comparison, part: Node, facts: Facts, path: str, most: int | None) -> Rule:
    findings: list[Incompatibility] = []
    listed = max([len(part.prefix), *(len(node.prefix) for node in facts.nodes)])
    comparison.spend(listed * (1 + len(facts.nodes)))
    for index in range(listed if most is None else min(listed, most)):
        node = part.prefix[index] if index < len(part.prefix) else part.rest
        written = facts.item(index)
        if node is TRUE or written == (FALSE,):
            continue
        where = f"{path}/{part.prefix_keyword}/{index}"
        inner = yield Ask("covers", node, written, where, inside=True)
        theirs = any(index < len(other.prefix) for other in facts.nodes)
        if inner and index < len(part.prefix) and not theirs and part.prefix_keyword in part.raw:
            findings.append(_added(where, node, written))
        elif inner and index >= len(part.prefix) and part.prefix:
            findings.append(_removed(where, node, written))
        else:
            findings.extend(inner)
    if part.rest is not TRUE and (most is None or most > listed):
        findings.extend((yield from _rest(part, facts, path)))
    return findings


def _added(where: str, node: Node, written: tuple[Node, ...]) -> Incompatibility:
    text = describe_types(node)
    message = (
        f"the writer's arrays may have any item there and the reader accepts {text} only. Remove the item from the list."
    )
    if not written:
        return finding(where, "ITEM_ADDED_TO_OPEN_CONTENT_MODEL", text, "any item", message)
    rule = "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    theirs = " and ".join(map(describe_types, written[:3]))
    message = f"the writer's items there are {theirs} and the reader accepts {text} only. Let it accept {theirs}."
    return finding(where, rule, text, theirs, message)


def _removed(where: str, node: Node, written: tuple[Node, ...]) -> Incompatibility:
    theirs = " and ".join(map(describe_types, written[:3])) or "any item"
    if node is FALSE:
        message = f"the writer's arrays may have {theirs} there and the reader's end before it. Keep the item in the list."
        return finding(where, "ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", "no item", theirs, message)
    rule = "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
    message = f"the writer's item there is {theirs}, which is an additional item for the reader. Keep the item in the list."
    return finding(where, rule, describe_types(node), theirs, message)


def _rest(part: Node, facts: Facts, path: str) -> Rule:
    """Compare the items after those that either side lists."""
    keyword = part.rest_keyword if part.rest_keyword in part.raw else "unevaluatedItems"
    where = f"{path}/{keyword}"
    written = facts.rest()
    inner = yield Ask("covers", part.rest, written, where, inside=True)
    behind_list = bool(part.prefix) or keyword != "items"
    if not inner or (written and not behind_list):
        return list(inner)
    if part.rest is FALSE or (behind_list and not written):
        return _less_additional(part.rest, written, where, keyword)
    theirs = " and ".join(map(describe_types, written[:3])) or "any item"
    if not written:
        text = describe_types(part.rest)
        message = f"the writer's items may be of any type and the reader accepts {text} only. Remove items."
        return [finding(where, "SCHEMA_ADDED", text, theirs, message)]
    return list(inner)


def _less_additional(node: Node, written: tuple[Node, ...], where: str, keyword: str) -> list[Incompatibility]:
    theirs = " and ".join(map(describe_types, written[:3])) or "any item"
    if node is FALSE:
        message = f"the writer's arrays may continue with {theirs} and the reader's end there. Keep {keyword} as it was."
        return [finding(where, "ADDITIONAL_ITEMS_REMOVED", "no further items", theirs, message)]
    text = describe_types(node)
    message = f"the writer's arrays may continue with any items and the reader accepts {text} only. Remove {keyword}."
    return [finding(where, "ADDITIONAL_ITEMS_NARROWED", text, theirs, message)]


def _contains(part: Node, facts: Facts, path: str) -> Rule:
    node = part.child("contains")
    if node is None:
        return []
    where = f"{path}/contains"
    least, most = _counts(part)
    findings: list[Incompatibility] = []
    if least > 0:
        nearest: list[Incompatibility] | None = None
        for other in facts.nodes:
            theirs = other.child("contains")
            if theirs is None:
                continue
            inner = yield Ask("covers", node, (theirs,), where, inside=True)
            if not inner:
                inner = tuple(limit(path, "minContains", least, _counts(other)[0] or None, least=True))
            if not inner:
                break
            nearest = nearest or list(inner)
        else:
            message = "the reader requires an item that the writer's arrays may lack. Remove contains."
            findings.extend(nearest or [finding(where, "SCHEMA_ADDED", describe_types(node), "no contains", message)])
    if most is not None:
        findings.extend((yield from _most_contained(node, most, facts, path)))
    return findings


def _most_contained(node: Node, most: int, facts: Facts, path: str) -> Rule:
    """Check that the writer limits the number of items that the reader counts."""
    for other in facts.nodes:
        theirs, limited = other.child("contains"), _counts(other)[1]
        if theirs is not None and limited is not None and limited <= most:
            inner = yield Ask("covers", theirs, (node,), f"{path}/contains", inside=True)
            if not inner:
                return []
    if facts.max_items is not None and facts.max_items <= most:
        return []
    return list(limit(path, "maxContains", most, None, least=False))


def _counts(part: Node) -> tuple[int, int | None]:
    if part.location is None or part.location.draft.year < 2019:
        return 1, None
    most = part.raw.get("maxContains")
    return int(part.raw.get("minContains", 1)), None if most is None else int(most)

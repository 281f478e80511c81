"""Rules about objects: required names, properties and content models, counts, names and dependencies.

A content model is open where further properties may have any value, closed where there are none, and partially open where
``patternProperties`` or a schema under ``additionalProperties`` says what they are.
"""

from collections.abc import Iterator
from itertools import islice

from penstock.schema.incompatibility import Incompatibility
from penstock.schema.jsonschema.compatibility.engine import MAX_FINDINGS, Ask, Comparison, Findings, Rule
from penstock.schema.jsonschema.compatibility.facts import Facts, effective
from penstock.schema.jsonschema.compatibility.scalars import finding, limit
from penstock.schema.jsonschema.model import FALSE, TRUE, Node, describe_types, step

__all__ = ["object_findings"]

_CLOSED = "the writer's objects are closed"


def object_findings(comparison: Comparison, part: Node, facts: Facts, ask: Ask) -> Rule:
    """Return the requirements of ``part`` on objects that the writer's objects may break."""
    path = ask.path
    # Limited, because each branch of a wide oneOf would make as many.
    findings = list(islice(_required(comparison, part, facts, path), MAX_FINDINGS))
    least = max(facts.min_properties, len(facts.required))
    findings.extend(limit(path, "minProperties", part.min_properties or None, least or None, least=True))
    findings.extend(limit(path, "maxProperties", part.max_properties, _most(facts), least=False))
    findings.extend(islice(_dependent_required(comparison, part, facts, path), MAX_FINDINGS))
    names = dict.fromkeys([*part.properties, *(name for name in sorted(facts.listing) if name not in part.properties)])
    comparison.spend(len(names) * (1 + len(part.patterns) + sum(1 + len(node.patterns) for node in facts.loose)))
    if part.properties or part.patterns or part.additional is not TRUE:
        for name in names:
            findings.extend((yield from _property(comparison, part, facts, name, path)))
        findings.extend((yield from _patterns(comparison, part, facts, path)))
        findings.extend((yield from _additional(comparison, part, facts, path)))
    findings.extend((yield from _property_names(comparison, part, facts, path)))
    findings.extend((yield from _dependent_schemas(comparison, part, facts, ask)))
    return findings


def _required(comparison: Comparison, part: Node, facts: Facts, path: str) -> Iterator[Incompatibility]:
    for name in part.required:
        if name in facts.required:
            continue
        node = part.properties.get(name)
        if comparison.rules.listed_required_only and part.properties and node is None:
            continue
        if comparison.rules.defaults_fill_required and node is not None and "default" in node.raw:
            continue
        listed = name in facts.listing
        unopen = not listed and bool(facts.property(name))
        yield finding(
            path + (step("properties", name) if unopen and node is not None else step("required", name)),
            "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL" if unopen else "REQUIRED_ATTRIBUTE_ADDED",
            f"{name} required",
            f"{name} optional" if listed else f"no {name}",
            f"the reader requires '{name}', which the writer may omit. Remove '{name}' from required.",
        )


def _most(facts: Facts) -> int | None:
    """Return the greatest number of properties that the writer's objects have."""
    closed = [len(node.properties) for node in facts.nodes if node.additional is FALSE and not node.patterns]
    return min([*closed, *([] if facts.max_properties is None else [facts.max_properties])], default=None)


def _property(comparison: Comparison, part: Node, facts: Facts, name: str, path: str) -> Rule:
    """Compare a property that either side lists."""
    written = facts.property(name)
    listed = name in part.properties
    schemas = effective(part, name) if listed or part.patterns else (part.additional,)
    if schemas is None:
        schemas = (*part.patterns.values(), part.additional)
    where = path + step("properties", name)
    findings: list[Incompatibility] = []
    for node in schemas:
        if node is TRUE or written == (FALSE,):
            continue
        inner: Findings = yield Ask("covers", node, written, where, inside=True)
        if inner and (not listed or name not in facts.listing):
            text = describe_types(node)
            added = _added(where, name, text, written, inner) if listed else _removed(where, name, node, written, inner)
            findings.extend(_unless_lenient(comparison, added))
        else:
            findings.extend(inner)
    return findings


def _added(where: str, name: str, text: str, written: tuple[Node, ...], inner: Findings) -> Incompatibility:
    if not written:
        return finding(
            where,
            "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",
            text,
            f"no {name}, any further property",
            f"the writer's objects are open and may have '{name}' with any value, and the reader accepts {text} only. "
            f'An optional property can be added only if the earlier schema has "additionalProperties": false; '
            f"otherwise give '{name}' the schema {{}}.",
        )
    return finding(
        where,
        "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        text,
        f"further properties: {_describe_all(written)}",
        f"the writer's objects may hold '{name}' as {_describe_all(written)}, which the reader does not accept: "
        f"{inner[0]}. Let its schema accept what patternProperties and additionalProperties of the earlier schema do.",
    )


def _removed(where: str, name: str, node: Node, written: tuple[Node, ...], inner: Findings) -> Incompatibility:
    text = _describe_all(written)
    if node is FALSE:
        return finding(
            where,
            "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",
            f"no {name}, no further properties",
            text,
            f"the writer's objects may have '{name}' and the reader is closed and does not list it. "
            f"Keep '{name}' in properties, or remove additionalProperties: false.",
        )
    return finding(
        where,
        "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
        f"further properties: {describe_types(node)}",
        text,
        f"the writer's objects may hold '{name}' as {text}, which is a further property to the reader and is not accepted: "
        f"{inner[0]}. Keep '{name}' in properties.",
    )


def _patterns(comparison: Comparison, part: Node, facts: Facts, path: str) -> Rule:
    """Compare the properties that neither side lists and that match one of the reader's patterns."""
    findings: list[Incompatibility] = []
    for pattern, node in part.patterns.items():
        if node is TRUE:
            continue
        where = path + step("patternProperties", pattern)
        same = tuple(other.patterns[pattern] for other in facts.nodes if pattern in other.patterns)
        if same:
            findings.extend((yield Ask("covers", node, same, where, inside=True)))
            continue
        inner = yield from _further(node, facts, where, frozenset())
        if inner:
            written = "further properties of any value" if inner[0].writer == "any value" else inner[0].writer
            rule = "PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
            if any(other.additional is not TRUE for other in facts.nodes):
                rule = "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"
            text = describe_types(node)
            message = (
                f"properties that match {pattern[:100]} must be {text}, and the writer's objects may have other values. "
                "Remove the pattern, or let its schema accept what the earlier schema did."
            )
            findings.extend(_unless_lenient(comparison, finding(where, rule, text, written, message)))
    return findings


def _additional(comparison: Comparison, part: Node, facts: Facts, path: str) -> Rule:
    """Compare the properties that the reader neither lists nor matches by a pattern."""
    node = part.additional
    if node is TRUE:
        return []
    keyword = "additionalProperties" if "additionalProperties" in part.raw else "unevaluatedProperties"
    where = f"{path}/{keyword}"
    inner = yield from _further(node, facts, where, frozenset(part.patterns))
    if not inner:
        return []
    open_writer = all(other.additional is TRUE for other in facts.nodes)
    if not open_writer and node is not FALSE:
        return list(inner)
    rule = "ADDITIONAL_PROPERTIES_REMOVED" if node is FALSE else "ADDITIONAL_PROPERTIES_NARROWED"
    accepted = "no further properties" if node is FALSE else f"further properties of {describe_types(node)} only"
    return _unless_lenient(
        comparison,
        finding(
            where,
            rule,
            accepted,
            "further properties of any value" if open_writer else "further properties by a schema",
            f"the writer's objects may hold further properties and the reader accepts {accepted}. Keep {keyword} as it was.",
        ),
    )


def _further(node: Node, facts: Facts, where: str, patterns: frozenset[str]) -> Rule:
    """Return why ``node`` does not accept the properties that the writer does not list, by the nearest of its schemas."""
    nearest: list[Incompatibility] | None = None
    for other in facts.nodes or (TRUE,):
        findings = [*(yield Ask("covers", node, (other.additional,), where, inside=True))]
        for pattern, inner in other.patterns.items():
            if pattern not in patterns and not findings:
                findings.extend((yield Ask("covers", node, (inner,), where, inside=True)))
        if not findings:
            return []
        if nearest is None or other.additional is not TRUE:
            nearest = findings
    return nearest or []


def _property_names(comparison: Comparison, part: Node, facts: Facts, path: str) -> Rule:
    node = part.child("propertyNames")
    if node is None:
        return []
    where = f"{path}/propertyNames"
    names = [other for part in facts.nodes if (other := part.child("propertyNames")) is not None]
    string = comparison.of_types(frozenset({"string"}))
    findings = yield Ask("covers", node, (string, *names), where, inside=True)
    closed = [other for other in facts.nodes if other.additional is FALSE and not other.patterns]
    if findings and closed:
        listed = min((other.properties for other in closed), key=len)
        findings = ()
        for name in listed:
            findings += yield Ask("covers", node, (comparison.constant(name, f'"{name}"'),), where, inside=True)
    if findings and not names and not closed:
        message = "the reader limits the names of properties and the writer does not. Remove propertyNames."
        return [finding(where, "SCHEMA_ADDED", describe_types(node), "any name", message)]
    return list(findings)


def _dependent_required(comparison: Comparison, part: Node, facts: Facts, path: str) -> Iterator[Incompatibility]:
    depending = [other.dependent_required for other in facts.nodes if other.dependent_required]
    comparison.spend(len(part.dependent_required) * (1 + len(depending)))
    for name, needed in part.dependent_required.items():
        theirs = [names[name] for names in depending if name in names]
        missing = [other for other in needed if other not in facts.required and not any(other in names for names in theirs)]
        if not missing or facts.property(name) == (FALSE,):
            continue
        keyword = "dependentRequired" if "dependentRequired" in part.raw else "dependencies"
        written = {other for names in theirs for other in names}
        change = "ADDED" if not theirs else "EXTENDED" if written <= set(needed) else "CHANGED"
        yield finding(
            path + step(keyword, name),
            f"DEPENDENCY_ARRAY_{change}",
            f"{name} needs {', '.join(needed)}",
            f"{name} needs {', '.join(sorted(written)) or 'nothing'}",
            f"if '{name}' is present, the reader requires {', '.join(missing)}, which the writer may omit. "
            "Remove it from the dependency.",
        )


def _dependent_schemas(comparison: Comparison, part: Node, facts: Facts, ask: Ask) -> Rule:
    findings: list[Incompatibility] = []
    alone = comparison.keywords_alone
    for name, (keyword, node) in part.dependent_schemas.items():
        if facts.property(name) == (FALSE,) and not alone:
            continue
        theirs = tuple(other.dependent_schemas[name][1] for other in facts.nodes if name in other.dependent_schemas)
        where = ask.path + step(keyword, name)
        written = theirs if alone else (*ask.nodes, comparison.presence(name), *theirs)
        inner = (yield Ask("covers", node, written, where)) if written else ()
        if not theirs and (inner or alone):
            more = f" more than the writer: {inner[0]}" if inner else " what the writer does not say"
            message = f"if '{name}' is present, the reader requires{more}. Remove the dependency."
            findings.append(
                finding(where, "DEPENDENCY_SCHEMA_ADDED", f"{name} needs a schema", f"{name} needs nothing", message)
            )
        else:
            findings.extend(inner)
    return findings


def _unless_lenient(comparison: Comparison, finding: Incompatibility) -> list[Incompatibility]:
    lenient = comparison.rules.lenient_content_models and finding.rule != "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL"
    return [] if lenient else [finding]


def _describe_all(nodes: tuple[Node, ...]) -> str:
    return " and ".join(describe_types(node) for node in nodes[:3]) or "any value"

"""Compatibility of JSON Schemas against jsonschema-rs as the judge: what counts as compatible accepts every document."""

import json
from dataclasses import replace
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from penstock.schema.formats import format_of
from penstock.schema.jsonschema.document import validator_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES, JsonRules
from tests.unit.schema.jsonschema.json_schemas import DOCUMENTS, DRAFTS, edited, schema, with_definitions

JSON = format_of("JSON")
JUDGES = {
    4: jsonschema_rs.Draft4Validator,
    6: jsonschema_rs.Draft6Validator,
    7: jsonschema_rs.Draft7Validator,
    2019: jsonschema_rs.Draft201909Validator,
    2020: jsonschema_rs.Draft202012Validator,
}


def pair(seed: int, draft: int) -> tuple[Any, Any]:
    """An old and a new definition, most of them an edit apart."""
    random = Random(seed)
    definition = schema(random, 1, draft)
    old = schema(random, 2, draft)
    new = edited(random, old, draft) if random.random() < 0.9 else schema(random, 2, draft)
    other = definition if random.random() < 0.8 else edited(random, definition, draft)
    return with_definitions(random, old, definition, draft), with_definitions(random, new, other, draft)


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**40), draft=st.sampled_from(list(DRAFTS)))
@example(seed=6375, draft=6)  # the writer accepts no document, by a 'not' with a dependency
def test_compatible_schemas_accept_every_document_of_the_other(seed: int, draft: int) -> None:
    old, new = pair(seed, draft)
    writer, reader = JSON.parse(json.dumps(old)), JSON.parse(json.dumps(new))
    incompatibilities = JSON.readable(reader, writer, GLUE_RULES)
    if not incompatibilities:
        accepts, still = JUDGES[draft](old).is_valid, JUDGES[draft](new).is_valid
        assert [document for document in DOCUMENTS if accepts(document) and not still(document)] == []
    assert JSON.readable(reader, reader, GLUE_RULES) == []
    # Confluent's rules let through more, never less.
    lenient = {(item.rule, item.path) for item in JSON.readable(reader, writer, CONFLUENT_RULES)}
    assert lenient == set() or incompatibilities


def without(keyword: str, value: Any) -> Any:
    """``value`` without a keyword at any depth; a property of that name goes too."""
    if isinstance(value, list):
        return [without(keyword, item) for item in value]
    if isinstance(value, dict):
        return {name: without(keyword, item) for name, item in value.items() if name != keyword}
    return value


def assert_sound(old: dict[str, Any], new: dict[str, Any], draft: int, rules: JsonRules) -> None:
    writer, reader = JSON.parse(json.dumps(old)), JSON.parse(json.dumps(new))
    if not JSON.readable(reader, writer, replace(CONFLUENT_RULES, json=rules)):
        accepts, still = JUDGES[draft](old).is_valid, JUDGES[draft](new).is_valid
        assert [document for document in DOCUMENTS if accepts(document) and not still(document)] == []


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**40), draft=st.sampled_from(list(DRAFTS)))
def test_an_implied_type_excuses_a_type_and_nothing_else(seed: int, draft: int) -> None:
    """Confluent's rules let the reader name the type that keywords imply: a reader without types breaks no document."""
    old, new = pair(seed, draft)
    assert_sound(old, without("type", new), draft, JsonRules(keywords_imply_type=True))


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 2**40), draft=st.sampled_from(list(DRAFTS)))
def test_a_combination_that_becomes_one_of_breaks_no_document(seed: int, draft: int) -> None:
    random = Random(seed)
    branches = [schema(random, 1, draft) for _ in range(random.randint(2, 3))]
    old = {"$schema": DRAFTS[draft], random.choice(["anyOf", "allOf"]): branches}
    changed = [edited(random, branch, draft) if random.random() < 0.3 else branch for branch in branches]
    new = {"$schema": DRAFTS[draft], "oneOf": changed}
    inner = json.dumps([branches, changed])
    assume("oneOf" not in inner and "$ref" not in inner)
    assert_sound(old, new, draft, JsonRules(exclusive_branches=False))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**40), draft=st.sampled_from(list(DRAFTS)))
def test_canonical_text_is_the_same_schema(seed: int, draft: int) -> None:
    _, definition = pair(seed, draft)
    parsed = JSON.parse(json.dumps(definition))
    again = JSON.parse(parsed.canonical)
    assert (again.canonical, again.fingerprint) == (parsed.canonical, parsed.fingerprint)
    shuffled = json.dumps(dict(reversed(definition.items())), indent=1)
    assert JSON.parse(shuffled).fingerprint == parsed.fingerprint
    before, after = validator_of(parsed.tree.document), validator_of(again.tree.document)
    assert [item for item in DOCUMENTS[:300] if before.is_valid(item) != after.is_valid(item)] == []
    assert JSON.readable(again, parsed, GLUE_RULES) == JSON.readable(parsed, again, GLUE_RULES) == []


def test_most_compatible_edits_are_recognised() -> None:
    """What jsonschema-rs proves to be contained is rarely refused: the rules are not sound by refusing all."""
    contained = refused = 0
    for seed in range(600):
        old, new = pair(seed, 7)
        proof = jsonschema_rs.canonicalize(new).covers(jsonschema_rs.canonicalize(old))
        if proof == jsonschema_rs.canonical.Containment.YES:
            contained += 1
            refused += bool(JSON.readable(JSON.parse(json.dumps(new)), JSON.parse(json.dumps(old)), GLUE_RULES))
    assert contained > 300
    assert refused < contained * 0.03


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_draft_is_read_and_told_apart(draft: int) -> None:
    definition = {"$schema": DRAFTS[draft], "const": 1, "prefixItems": [{"type": "string"}]}
    accepts = validator_of(JSON.parse(json.dumps(definition)).tree.document).is_valid
    assert accepts(2) == (draft == 4)
    bare = JSON.parse(json.dumps({"$schema": DRAFTS[draft]}))
    closed = JSON.parse(
        json.dumps({"$schema": DRAFTS[draft], "prefixItems": [{"type": "string"}], "if": {}, "then": {"not": {}}})
    )
    rules = {item.rule for item in JSON.readable(closed, bare, GLUE_RULES)}
    assert ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL" in rules) == (draft == 2020)
    assert bool(rules) == (draft >= 7)

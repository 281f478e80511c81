"""Where references lead, against the referencing library: every target is the same schema, or none for both."""

import json
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
import referencing
import referencing.exceptions
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing.jsonschema import DRAFT4, DRAFT6, DRAFT7, DRAFT201909, DRAFT202012

from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.jsonschema.document import BASE, Document, read_document
from tests.unit.schema.jsonschema.json_schemas import DRAFTS

SPECIFICATIONS: dict[int, Any] = {4: DRAFT4, 6: DRAFT6, 7: DRAFT7, 2019: DRAFT201909, 2020: DRAFT202012}
URIS = ("x.json", "y/z.json", "sub/", "http://other.example/w", "urn:example:p")
NAMES = ("a", "c~d", "e/f", "g%h", "0", "A B", "é")
ODD = ("#/definitions/e%2Ff", "#/definitions/c%7E0d", "#/allOf/x", "#/enum/0", "#/", "#nothing", "x.json#")


class Writer:
    """One random definition, in which each URI and each anchor of a resource is given once."""

    def __init__(self, random: Random, draft: int) -> None:
        self.random, self.draft = random, draft
        self.id = "id" if draft == 4 else "$id"
        self.uris = list(URIS)
        self.anchors = [f"n{number}" for number in range(6)]
        self.pointers = ["#"]
        self.holder = "$defs" if draft >= 2019 else "definitions"

    def definition(self) -> dict[str, Any]:
        root = {"$schema": DRAFTS[self.draft], **self.schema(0)}
        self.find(root, "#")
        return root

    def schema(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self.uris and self.random.random() < 0.3:
            made[self.id] = self.uris.pop(self.random.randrange(len(self.uris)))
        elif self.anchors and self.random.random() < 0.3:
            name = self.anchors.pop()
            made |= {"$anchor": name} if self.draft >= 2019 else {self.id: f"#{name}"}
        if depth < 3:
            for keyword in self.random.sample([self.holder, "properties", "allOf", "items", "not", "x-types"], 2):
                inner = [self.schema(depth + 1) for _ in range(self.random.randint(1, 2))]
                if keyword == "allOf":
                    made[keyword] = inner
                elif keyword in {"items", "not"}:
                    made[keyword] = inner[0]
                else:
                    made[keyword] = dict(zip(self.random.sample(NAMES, 2), inner, strict=False))
        return made

    def find(self, value: Any, pointer: str) -> None:
        """Note the pointers to what may be a schema, as in a URI."""
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, inner in steps:
            token = str(step).replace("~", "~0").replace("/", "~1")
            self.find(inner, f"{pointer}/{quote(token)}")
        if isinstance(value, dict):
            self.pointers.append(pointer)

    def reference(self) -> str:
        uri = self.random.choice(URIS)
        anchor = f"n{self.random.randrange(6)}"
        pointer = self.random.choice(self.pointers)
        return self.random.choice(
            [pointer, pointer, uri, f"#{anchor}", f"{uri}#{anchor}", uri + pointer, self.random.choice(ODD)]
        )


def their_target(root: dict[str, Any], draft: int) -> Any:
    """Where the library says that ``/properties/r`` leads; None where that is nothing or no schema."""
    resource = SPECIFICATIONS[draft].create_resource(root)
    registry = referencing.Registry().with_resource(BASE, resource).crawl()
    try:
        result = registry.resolver(BASE).in_subresource(resource).lookup(root["properties"]["r"]["$ref"]).contents
    except (referencing.exceptions.Unresolvable, ValueError):  # the latter for an index of an array that is no number
        return None
    return result if isinstance(result, dict) else None


def read(text: str) -> Document | InvalidSchema:
    try:
        return read_document(text)
    except InvalidSchema as refused:
        return refused


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**40), draft=st.sampled_from(list(DRAFTS)))
def test_every_reference_leads_where_the_library_says(seed: int, draft: int) -> None:
    writer = Writer(Random(seed), draft)
    root = writer.definition()
    for reference in (writer.reference() for _ in range(4)):
        text = json.dumps({**root, "properties": {**root.get("properties", {}), "r": {"$ref": reference}}})
        document = read(text)
        if isinstance(document, Document):
            (target,) = document.targets[id(document.root["properties"]["r"])]
            assert target is their_target(document.root, draft)
        else:
            assert document.path == "/properties/r/$ref"
            assert their_target(json.loads(text), draft) is None


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#/definitions/e~1f", True),
        ("#/definitions/g%25h", True),
        ("#/definitions/c%7E0d", True),
        ("#/allOf/0", True),
        # Section 6: the fragment is decoded before it is split.
        ("#/definitions/e%2Ff", False),
    ],
)
def test_a_pointer_is_read_as_rfc_6901_says(reference: str, found: bool) -> None:
    definition = {
        "properties": {"a": {"$ref": reference}},
        "definitions": {"e/f": {}, "g%h": {}, "c~d": {}},
        "allOf": [{"title": "t"}],
    }
    if found:
        assert read_document(json.dumps(definition)).targets
        return
    with pytest.raises(InvalidSchema, match="does not point to a schema"):
        read_document(json.dumps(definition))
    # What a registry has already is read.
    assert format_of("JSON").parse(json.dumps(definition), legacy=True)


def test_a_definition_beside_another_is_found_by_its_uri_and_by_its_name() -> None:
    names = [ReferencedText(name="lib.json", text='{"$id": "http://other.example/lib", "title": "t"}')]
    text = '{"$id": "http://x.example/dir/", "items": [{"$ref": "http://other.example/lib"}, {"$ref": "lib.json"}]}'
    document = read_document(text, names)
    assert {id(target) for (target,) in document.targets.values()} == {id(document.names["lib.json"])}

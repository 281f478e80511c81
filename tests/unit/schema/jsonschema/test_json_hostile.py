"""JSON Schemas made to hurt: each is read, refused or compared with bounded work, and nothing outside of them is touched."""

import json
import socket
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from penstock.schema.errors import InvalidSchema, NoColumns, TooComplex
from penstock.schema.format import MAX_DEFINITION_CHARS, ParsedSchema, ReferencedText
from penstock.schema.formats import format_of
from penstock.schema.jsonschema.compatibility.engine import Comparison
from penstock.schema.jsonschema.document import read_document, validator_of
from penstock.schema.jsonschema.library import matches
from penstock.schema.rules import GLUE_RULES

JSON = format_of("JSON")
STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def parse(definition: dict[str, Any]) -> ParsedSchema:
    return JSON.parse(json.dumps(definition, separators=(",", ":")))


def compared(new: dict[str, Any], old: dict[str, Any]) -> list[Any]:
    """The findings, or the error that stands for too many combinations."""
    try:
        return JSON.readable(parse(new), parse(old), GLUE_RULES)
    except TooComplex as error:
        return [error]


def chain(length: int, last: dict[str, str], *properties: str) -> dict[str, Any]:
    """Definitions each of which refers to the next."""
    links = {
        f"a{index}": {"properties": {name: {"$ref": f"#/definitions/a{index + 1}"} for name in properties}}
        for index in range(length)
    }
    return {"$ref": "#/definitions/a0", "definitions": {**links, f"a{length}": last}}


def nested_objects(depth: int) -> dict[str, Any]:
    """Objects in objects, by reference so that the text stays flat."""
    links = {
        f"a{index}": {"type": "object", "properties": {"x": {"$ref": f"#/definitions/a{index + 1}"}}}
        for index in range(depth)
    }
    return {"$ref": "#/definitions/a0", "definitions": {**links, f"a{depth}": STRING}}


def nested(depth: int, keyword: str, inner: dict[str, Any]) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    for _ in range(depth):
        inner = {keyword: inner}
    return inner


def test_size_and_depth_are_bounded() -> None:
    with pytest.raises(InvalidSchema, match="limit is 170000"):
        JSON.parse(json.dumps({"title": "x" * MAX_DEFINITION_CHARS}))
    with pytest.raises(InvalidSchema, match="nests more than 200"):
        parse(nested(300, "not", STRING))
    with pytest.raises(InvalidSchema, match="nests more than 200"):
        JSON.parse("[" * 100_000)
    with pytest.raises(InvalidSchema, match="limit is 170000"):
        JSON.parse("{}", [ReferencedText(name="b.json", text=json.dumps({"title": "x" * MAX_DEFINITION_CHARS}))])


@pytest.mark.parametrize("keyword", ["not", "items", "additionalProperties", "propertyNames", "contains", "if"])
def test_nesting_up_to_the_bound_is_walked_within_the_stack(keyword: str) -> None:
    here = len(list(iter_frames()))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(here + 250)
    try:
        definition = nested(195, keyword, STRING)
        assert compared(definition, definition) == []
        compared(definition, nested(194, keyword, STRING))
        JSON.fields(parse(definition))
    finally:
        sys.setrecursionlimit(limit)


def iter_frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe()
    while frame:
        yield frame
        frame = frame.f_back


def test_values_nest_up_to_the_bound() -> None:
    value = json.loads("[" * 195 + "]" * 195)
    assert compared({"const": value}, {"const": value}) == []
    assert compared({"enum": [value, 1]}, {"const": value, "default": value}) == []
    assert compared({"items": {"type": "array", "items": STRING}}, {"const": value})


def test_long_chains_of_references_are_walked_to_the_end() -> None:
    (found,) = compared(chain(1_200, STRING, "x"), chain(1_200, INTEGER, "x"))
    assert found.path == "/properties/x" * 1_200
    assert compared(chain(1_200, STRING, "x"), chain(1_200, STRING, "x")) == []


def test_references_that_fan_out_are_walked_once() -> None:
    results = compared(chain(600, STRING, "x", "y"), chain(600, INTEGER, "x", "y"))
    assert results
    same = {"allOf": [{"$ref": "#/definitions/b"}] * 2}
    links = {f"a{index}": {"allOf": [{"$ref": f"#/definitions/a{index + 1}"}] * 2} for index in range(800)}
    parse({"$ref": "#/definitions/a0", "definitions": {**links, "a800": same, "b": STRING}})


def test_recursion_through_every_keyword_ends() -> None:
    own = {"$ref": "#"}
    for keyword in ("items", "additionalProperties", "contains", "propertyNames", "additionalItems"):
        assert compared({keyword: own, "title": "a"}, {keyword: own}) == []
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"anyOf": [own, {"type": "null"}]}}}}
    assert compared(tree | {"required": []} | {"title": "x"}, tree) == []
    tangled = {"oneOf": [{"items": own}, {"not": {"items": own}}], "properties": {"a": {"not": own}}}
    compared(tangled, {"anyOf": tangled["oneOf"]})
    compared({"not": {"properties": {"a": own}}}, {"properties": {"a": {"not": own}}})


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", r"^(a|a)*\1$", r"(x+x+)+(?!z)y", "^(([a-z])+.)+[A-Z]([a-z])+$", "(((((a{100}){100}){100}){100}){100})"],
)
def test_patterns_that_backtrack_are_read_and_never_run_long(pattern: str) -> None:
    definition = {"pattern": pattern, "patternProperties": {pattern: STRING}}
    assert compared(definition, definition) == []
    text = "x" * 25_000 + "a" * 25_000
    compared(definition, {"enum": [text, text + "!"], "properties": {text: INTEGER}})
    matches(pattern, text)


def test_undecided_patterns_count_against_the_reader() -> None:
    pattern = r"(x+x+)+(?!z)y"
    text = "x" * 2_000
    assert matches(pattern, text) is None
    assert [item.rule for item in compared({"pattern": pattern}, {"enum": [text]})] == ["PATTERN_ADDED"]
    closed = {"type": "object", "additionalProperties": False, "properties": {text: STRING}}
    results = compared({"type": "object", "patternProperties": {pattern: INTEGER}, "additionalProperties": STRING}, closed)
    assert [item.path for item in results] == [f"/properties/{text}"]


def test_many_patterns_are_bounded() -> None:
    with pytest.raises(InvalidSchema, match="1000"):
        parse({"patternProperties": {f"^{index}$": {} for index in range(1_001)}})
    with pytest.raises(InvalidSchema, match="limit is 5000"):
        parse({"pattern": "a" * 5_001})
    wide = {"type": "object", "patternProperties": {f"^p{index}": STRING for index in range(900)}}
    listed = wide | {"properties": {f"q{index}": STRING for index in range(900)}}
    compared(
        listed, listed | {"title": "x", "minProperties": 1, "properties": {f"q{index}": INTEGER for index in range(900)}}
    )
    assert len(JSON.columns(parse(listed))) == 900


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:1/s.json",
        "https://example.com/s",
        "file:///etc/passwd",
        "ftp://example.com/s",
        "//example.com/s",
        "s.json",
    ],
)
def test_references_out_of_the_definition_are_never_followed(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **more: Any) -> None:
        raise AssertionError("something was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    for definition in (
        {"$ref": reference},
        {"$id": "http://example.com/a/", "properties": {"a": {"items": [{"$ref": reference}]}}},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$dynamicRef": reference},
        {"definitions": {"unused": {"$ref": reference + "#/definitions/x"}}},
    ):
        with pytest.raises(InvalidSchema, match="URLs and files are never looked up"):
            parse(definition)
    with pytest.raises(InvalidSchema):
        parse({"$schema": reference})
    with pytest.raises(InvalidSchema, match="URLs and files are never looked up"):
        JSON.parse('{"$ref": "b"}', [ReferencedText(name="b", text=json.dumps({"$ref": reference}))])


def test_long_lists_are_compared_by_their_values() -> None:
    assert compared({"enum": list(range(20_000))}, {"enum": list(range(19_999))}) == []
    (found,) = compared({"enum": list(range(19_999))}, {"enum": list(range(20_000))})
    assert (found.rule, len(found.message) < 500) == ("ENUM_ARRAY_NARROWED", True)
    constants = [{"const": f"v{index}"} for index in range(300)]
    assert (
        compared({"oneOf": [*constants, {"const": "new"}]}, {"oneOf": [item | {"title": "t"} for item in constants]}) == []
    )
    names = {f"property{index}": STRING for index in range(4_000)}
    closed = {"type": "object", "additionalProperties": False, "properties": names}
    assert compared(closed | {"properties": names | {"more": STRING}}, closed) == []


def choices(count: int, shift: int, word: str = "anyOf") -> dict[str, list[dict[str, list[Any]]]]:
    groups = [[{"minLength": i + shift}, {"maxLength": i}, {"pattern": f"a{i + shift}"}] for i in range(count)]
    return {"allOf": [{word: group} for group in groups]}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (choices(60, 0), choices(60, 1)),
        (choices(60, 0, "oneOf"), choices(60, 1, "oneOf")),
        ({"oneOf": [{"const": i} for i in range(3_000)]}, {"oneOf": [{"const": i + 0.5} for i in range(3_000)]}),
        ({"oneOf": [{"properties": {f"a{i}": STRING}} for i in range(2_000)]}, {"type": "object"}),
        (nested(190, "not", {"oneOf": [STRING, INTEGER]}), nested(189, "not", {"anyOf": [STRING, INTEGER]})),
        (
            {"dependencies": {f"a{i}": {"required": [f"a{i + 1}"]} for i in range(2_000)}, "required": ["a0"]},
            {
                "dependencies": {f"a{i}": {"required": [f"a{i + 1}"]} for i in range(1_999)},
                "required": ["a0"],
                "type": "object",
            },
        ),
    ],
)
def test_cross_products_end_within_a_bounded_number_of_steps(
    new: dict[str, Any], old: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Comparison] = []
    spend = Comparison.spend

    def noted(self: Comparison, amount: int) -> None:
        seen.append(self)
        spend(self, amount)

    monkeypatch.setattr(Comparison, "spend", noted)
    assert compared(new, old)
    assert seen[-1].steps <= 20_001
    assert compared(old, old) == []


def test_memory_stays_bounded() -> None:
    links = {f"a{i}": {"properties": {"x": {"$ref": f"#/definitions/a{i + 1}"}, "y": STRING}} for i in range(600)}
    definition = {"$ref": "#/definitions/a0", "definitions": {**links, "a600": {}}}
    tracemalloc.start()
    try:
        compared(definition, definition | {"title": "x"})
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_columns_of_shared_and_deep_objects_are_bounded() -> None:
    links = {
        f"a{i}": {"type": "object", "properties": {name: {"$ref": f"#/definitions/a{i + 1}"} for name in "xyz"}}
        for i in range(40)
    }
    with pytest.raises(NoColumns):
        JSON.columns(parse({"$ref": "#/definitions/a0", "definitions": {**links, "a40": STRING}}))
    with pytest.raises(NoColumns, match="64 levels"):
        JSON.columns(parse(nested_objects(70)))


def test_numbers_of_any_size() -> None:
    huge = {"type": "number", "minimum": 1e300, "maximum": 10**300, "multipleOf": 1e-300}
    assert compared(huge, huge | {"title": "x"}) == []
    assert compared({"minLength": 1e300}, {"type": "string", "minLength": 10**299})
    with pytest.raises(InvalidSchema):
        JSON.parse('{"minimum": 1' + "0" * 5_000 + "}")


def _resources(number: int, refers: Callable[..., Any] | type[range]) -> str:
    """Definitions with URIs of their own, each of which refers to some of the others."""
    parts = {
        f"r{n}": {"$id": f"r{n}", "properties": {f"p{other}": {"$ref": f"r{other}"} for other in refers(n)}}
        for n in range(number)
    }
    return json.dumps({"definitions": parts, "$ref": f"r{number - 1}"})


def _in_pairs(levels: int) -> tuple[str, list[ReferencedText]]:
    """Definitions beside each other, each referring to the two before it."""
    texts = [
        ReferencedText(
            name=f"r{n}.json", text=f'{{"items":[{{"$ref":"r{max(0, n - 1)}.json"}},{{"$ref":"r{max(0, n - 2)}.json"}}]}}'
        )
        for n in range(levels)
    ]
    return f'{{"$ref":"r{levels - 1}.json"}}', texts


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(lambda: (_resources(60, lambda n: {max(0, n - 1), max(0, n - 2)}), ()), id="two before each"),
        pytest.param(lambda: (_resources(20, range), ()), id="all before each"),
        pytest.param(lambda: (_resources(12, lambda n: set(range(12)) - {n}), ()), id="all others, in rings"),
        pytest.param(lambda: _in_pairs(60), id="in texts of their own"),
    ],
)
def test_no_validator_is_made_where_ways_double_with_each_reference(
    document: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.schema.jsonschema.document.check_by_library", None)
    read = read_document(*document())
    with pytest.raises(InvalidSchema, match=r"More than 20\d\d\d paths of references lead to schemas"):
        validator_of(read)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(lambda: (_resources(10, range), ()), id="all before each"),
        pytest.param(lambda: (_resources(6, lambda n: set(range(6)) - {n}), ()), id="all others, in rings"),
        pytest.param(lambda: (_resources(2_000, lambda n: {max(0, n - 1)} if n < 30 else {0}), ()), id="many"),
        pytest.param(lambda: _in_pairs(14), id="in texts of their own"),
    ],
)
def test_a_validator_is_made_where_there_are_few_ways(document: Callable[..., Any]) -> None:
    assert validator_of(read_document(*document())).is_valid({})


def test_ways_inside_one_text_do_not_count() -> None:
    parts = {f"d{n}": {"properties": {name: {"$ref": f"#/definitions/d{n + 1}"} for name in "ab"}} for n in range(150)}
    text = json.dumps({"definitions": {**parts, "d150": {"type": "string"}}, "$ref": "#/definitions/d0"})
    assert not validator_of(read_document(text)).is_valid(_nested_value(150, 5))


def _nested_value(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = {"a": value}
    return value

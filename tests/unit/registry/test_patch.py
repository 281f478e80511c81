"""JSON Patches of two versions, applied by another's library (jsonpatch)."""

import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.registry.model import SchemaKey
from penstock.registry.schemas import NewSchema
from penstock.registry.service import RegistryService
from penstock.registry.versions.patch import json_patch
from penstock.schema.compatibility import CompatibilityMode
from penstock.schema.errors import TooComplex
from penstock.schema.formats import format_of
from penstock.store.sql.registry.store import SqlRegistryStore
from penstock.testing.sqlite import new_database
from tests.unit.registry.registrations import register

NAMES = st.sampled_from(["name", "type", "a", "a/b", "~", "~1", ""])
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([1.0, 0.5, "a", "b", "1"])
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(NAMES, inner, max_size=4))
FIELDS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abcdefgh"), "type": SCALARS}), max_size=8)


@given(VALUES, VALUES)
def test_a_patch_makes_the_new_value_of_the_old_one(old: Any, new: Any) -> None:
    assert_makes(json_patch(old, new), old, new)


@given(FIELDS, FIELDS)
def test_a_patch_moves_through_arrays_of_named_objects(old: list[Any], new: list[Any]) -> None:
    assert_makes(json_patch(old, new), old, new)


def assert_makes(patch: list[Any], old: Any, new: Any) -> None:
    made = jsonpatch.apply_patch(old, patch)
    # As text, in which 1, 1.0 and true differ.
    assert json.dumps(made, sort_keys=True) == json.dumps(new, sort_keys=True)


@given(VALUES)
def test_what_is_the_same_takes_no_operation(value: Any) -> None:
    assert json_patch(value, value) == []


def test_a_field_in_the_middle_is_one_operation() -> None:
    a, b, c = ({"name": name, "type": "int"} for name in "abc")
    assert json_patch([a, c], [a, b, c]) == [{"op": "add", "path": "/1", "value": b}]
    assert json_patch([a, b, c], [a, c]) == [{"op": "remove", "path": "/1"}]
    assert json_patch([a, b], [a, {"name": "b", "type": "long"}]) == [{"op": "replace", "path": "/1/type", "value": "long"}]


DEFINITIONS = {
    "AVRO": ('"int"', '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'),
    "JSON": ('{"properties":{"a/b":{"type":"string"}}}', '{"properties":{"a/b":{"type":"integer"}},"required":["a/b"]}'),
    "PROTOBUF": ('syntax = "proto3"; message M { int32 a = 1; }', 'syntax = "proto3"; message M { int32 a = 1; M m = 2; }'),
}


@pytest.mark.parametrize("data_format", DEFINITIONS)
@pytest.mark.parametrize("order", [1, -1])
def test_the_difference_of_two_versions_is_a_patch_of_their_canonical_forms(data_format: str, order: int) -> None:
    first, second = DEFINITIONS[data_format][::order]
    patch = json.loads(difference(data_format, first, second))
    documents = [format_of(data_format).document(format_of(data_format).parse(text)) for text in (first, second)]
    assert jsonpatch.apply_patch(documents[0], patch) == documents[1]


def difference(data_format: str, first: str, second: str, mode: CompatibilityMode = CompatibilityMode.NONE) -> str:
    service, key = registered(data_format, first, second, mode)
    return service.diff(key, 1, 2)


def registered(data_format: str, first: str, second: str, mode: CompatibilityMode) -> tuple[RegistryService, SchemaKey]:
    service = RegistryService(SqlRegistryStore(new_database()))
    service.registries.create("r")
    expected = NewSchema(registry="r", name="s", definition=first, data_format=data_format, compatibility=mode)
    schema = service.schemas.create(expected)[0]
    register(service, schema.key, second)
    return service, schema.key


def test_a_refused_version_with_itself_says_why_in_a_patch_that_applies() -> None:
    service, key = registered("AVRO", '"int"', '"string"', CompatibilityMode.BACKWARD)
    (operation,) = json.loads(service.diff(key, 2, 2))
    (refused,) = operation["penstock:refused"]
    assert refused["version"] == 2
    assert "TYPE_MISMATCH at /: the reader expects string and the writer wrote int" in refused["verdict"]
    assert jsonpatch.apply_patch("string", [operation]) == "string"


def symbols(letter: str, count: int) -> str:
    names = [f"{kind}{number}" for number in range(count) for kind in ("s", letter)]
    return json.dumps({"type": "enum", "name": "E", "symbols": names}, separators=(",", ":"))


def test_long_arrays_with_every_other_element_replaced_are_compared_in_no_time() -> None:
    # A comparison that looks for the longest common stretch first took minutes, in which the server did little else.
    first, second = symbols("u", 9_000), symbols("v", 9_000)
    patch = json_patch(json.loads(first), json.loads(second))
    assert len(patch) == 9_000
    assert patch[-1] == {"op": "replace", "path": "/symbols/1", "value": "v0"}


def test_what_has_little_in_common_is_replaced_as_a_whole() -> None:
    second = symbols("v", 10_000).replace('"s', '"t').replace('"tymbols', '"symbols')
    text = difference("AVRO", symbols("u", 10_000), second)
    assert [operation["path"] for operation in json.loads(text)] == [""]


def test_a_difference_beyond_what_the_interface_tells_is_an_error() -> None:
    space = "n" * 1_000
    fields = [
        {"name": f"f{number}", "type": {"type": "enum", "name": f"E{number}", "symbols": ["A"]}} for number in range(400)
    ]
    long = json.dumps({"type": "record", "name": "R", "namespace": space, "fields": fields})
    service, key = registered("AVRO", '"int"', long, CompatibilityMode.NONE)
    with pytest.raises(TooComplex, match="the limit is 340,000"):
        service.diff(key, 1, 2)

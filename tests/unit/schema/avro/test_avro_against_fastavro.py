"""fastavro decides what a schema is, in the form in which it takes what Avro's Java takes; Avro's own Python agrees."""

import contextlib
import json
import warnings
from typing import Any

import avro.schema
import fastavro
import pytest
from avro.errors import AvroException, IgnoredLogicalType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.schema.avro.library import library_schema
from penstock.schema.avro.parse import parse_registered
from penstock.schema.errors import InvalidSchema
from penstock.schema.formats import format_of
from penstock.serdes.avro.codec import AvroSchema, decoder, encoder
from penstock.serdes.errors import UnreadableSchema
from tests.unit.schema.avro.avro_schemas import schemas
from tests.unit.schema.avro.test_avro_hostile import VALUES, fields_of

AVRO = format_of("AVRO")
NUMBERS = st.one_of(st.integers(-2, 40), st.sampled_from(["3", None, 2.0, True]))
DECIMALS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["bytes", "string", "int"]), "logicalType": st.just("decimal")},
        optional={"precision": NUMBERS, "scale": NUMBERS},
    ),
    st.fixed_dictionaries(
        {"type": st.just("fixed"), "name": st.just("F"), "size": st.integers(0, 9), "logicalType": st.just("decimal")},
        optional={"precision": NUMBERS, "scale": NUMBERS},
    ),
)
OBJECTS = st.fixed_dictionaries({"type": st.sampled_from(["double", "float", "int", "bytes", "A", "n.A", "B"])})
NAMES = st.sampled_from(["A", "B", "n.A", "n.B", "m.n.A"])
NAMESPACES = st.sampled_from(["", "n", "m.n", None])


def named(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records in and out of namespaces, of fields that refer to each other by short and full names."""
    kinds = st.one_of(NAMES, DECIMALS, OBJECTS, inner, st.lists(st.one_of(NAMES, inner), max_size=3))
    fields = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc"), "type": kinds}), max_size=3)
    return st.fixed_dictionaries(
        {"type": st.just("record"), "name": NAMES, "fields": fields}, optional={"namespace": NAMESPACES}
    )


RELATED = st.recursive(st.sampled_from(["int", "string"]), named, max_leaves=12)


DEFINITIONS = st.one_of(VALUES, fields_of(VALUES), fields_of(DECIMALS), fields_of(schemas()), fields_of(OBJECTS), RELATED)
SETTINGS = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@SETTINGS
@given(definition=st.one_of(DEFINITIONS, fields_of(RELATED)))
def test_fastavro_refuses_nothing_that_the_walk_has_no_reason_for(definition: Any) -> None:
    with contextlib.suppress(InvalidSchema):
        refusal = None
        try:
            AVRO.parse(json.dumps(definition))
        except InvalidSchema as error:
            refusal = str(error)
        assert "The definition is not an Avro schema" not in (refusal or "")


# Names that Java looks up in the empty namespace too, or that Avro's Python does not know as an object.
_LOOKED_UP_OTHERWISE = ("Unknown", "not a valid Avro schema", "Undefined type")


@SETTINGS
@given(definition=st.one_of(DEFINITIONS, fields_of(RELATED)))
def test_what_is_accepted_avros_own_python_accepts(definition: Any) -> None:
    text = json.dumps(definition)
    try:
        AVRO.parse(text)
    except InvalidSchema:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredLogicalType)
        refusal = _avros_refusal(text)
    assert refusal is None or any(words in refusal for words in _LOOKED_UP_OTHERWISE), refusal


def _avros_refusal(text: str) -> str | None:
    try:
        avro.schema.parse(text)
    except AvroException as error:
        return str(error)
    return None


FIXED = {"type": "fixed", "name": "F", "size": 1}


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        pytest.param({"type": "double"}, 1, id="a whole number for a double as an object"),
        pytest.param({"type": "float", "x": 1}, "NaN", id="text for a float as an object"),
        pytest.param({"type": "record", "name": "S", "namespace": None, "fields": []}, {}, id="namespace null"),
        pytest.param({"type": "array", "items": {"type": "n.R"}}, [], id="a name as an object"),
        pytest.param({**FIXED, "logicalType": "decimal", "precision": 9}, "x", id="a decimal too large"),
        pytest.param({**FIXED, "size": 10, "logicalType": "decimal", "precision": 10**400}, "x" * 10, id="a huge precision"),
    ],
)
def test_what_java_accepts_and_fastavro_alone_does_not(kind: Any, default: Any) -> None:
    later = [{"name": "b", "type": "n.S"}] if isinstance(kind, dict) and kind.get("name") == "S" else []
    record = {"type": "record", "name": "n.R", "fields": [{"name": "a", "type": kind, "default": default}, *later]}
    with pytest.raises((fastavro.schema.SchemaParseException, ValueError, ArithmeticError)):
        fastavro.parse_schema(record)
    library_schema(AVRO.parse(json.dumps(record)).tree)


def test_a_bare_name_is_looked_up_in_the_empty_namespace_too() -> None:
    inner = {"type": "record", "name": "n.R", "fields": [{"name": "a", "type": "F"}]}
    AVRO.parse(json.dumps([FIXED, inner]))
    with pytest.raises(InvalidSchema, match="'G' is neither"):
        AVRO.parse(json.dumps([FIXED, inner, {**inner, "name": "n.S", "fields": [{"name": "a", "type": "G"}]}]))


E = {"type": "enum", "name": "E", "symbols": ["X", "Y"]}
OWN = {"type": "enum", "name": "E", "namespace": "n", "symbols": ["Z"]}


def within(*types: Any) -> dict[str, Any]:
    """A record of namespace n with fields of these types."""
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(types)]
    return {"type": "record", "name": "R", "namespace": "n", "fields": fields}


@pytest.mark.parametrize(
    ("definition", "value"),
    [
        pytest.param([E, within("E")], {"f0": "Y"}, id="a field"),
        pytest.param([E, within({"type": "E"}, {"type": "array", "items": "E"})], {"f0": "Y", "f1": ["X"]}, id="items"),
        pytest.param([E, within({"type": "map", "values": ["null", "E"]})], {"f0": {"k": "Y", "l": None}}, id="a branch"),
        pytest.param([E, within(["null", "R"], "E")], {"f0": {"f0": None, "f1": "X"}, "f1": "Y"}, id="recursive"),
        pytest.param([E, within("E", OWN, "E")], {"f0": "Y", "f1": "Z", "f2": "Z"}, id="the namespace gets its own later"),
        pytest.param([E, OWN, within("E")], {"f0": "Z"}, id="the namespace has its own"),
        pytest.param([OWN, E, within("E")], {"f0": "Z"}, id="the namespace has its own, and first"),
        pytest.param(
            {"type": "record", "name": "n.R", "fields": [{"name": "a", "type": E}, {"name": "b", "type": "n.E"}]},
            {"a": "X", "b": "Y"},
            id="a namespace in a record's name",
        ),
    ],
)
def test_what_registration_finds_in_the_empty_namespace_the_serdes_reads(definition: Any, value: dict[str, Any]) -> None:
    text = json.dumps(definition)
    written, canonical = AvroSchema(text), AvroSchema(AVRO.parse(text).canonical)
    payload = encoder(written)(value)
    assert payload == encoder(canonical)(value)
    assert decoder(written)(payload) == decoder(canonical)(payload) == decoder(written, canonical)(payload) == value


class RecordOfItself(Exception):
    """A definition without values."""


def read_by_serdes(text: str) -> None:
    try:
        AvroSchema(text)
    except UnreadableSchema as error:
        if "contains itself" not in str(error):
            raise
        raise RecordOfItself from None


@SETTINGS
@given(definition=st.one_of(DEFINITIONS, RELATED))
def test_what_registration_accepts_the_serdes_reads(definition: Any) -> None:
    text = json.dumps(definition)
    try:
        AVRO.parse(text)
    except InvalidSchema:
        return
    # A record that holds itself with nothing in between has no values.
    with contextlib.suppress(RecordOfItself):
        read_by_serdes(text)


def test_what_fastavro_marks_as_checked_is_checked() -> None:
    marked = {"__fastavro_parsed": True, "__named_schemas": {}, "type": "record", "name": "R"}
    assert fastavro.parse_schema(dict(marked)) == marked
    with pytest.raises(InvalidSchema, match="no 'fields'"):
        AVRO.parse(json.dumps(marked))
    nameless = {"__fastavro_parsed": True, "__named_schemas": {}, "type": "record", "fields": []}
    for hidden in (nameless, [nameless], {"type": "array", "items": nameless}, within(nameless)):
        with pytest.raises(InvalidSchema, match="no 'name'"):
            parse_registered(hidden)
    lying = {**marked, "fields": [{"name": "a", "type": {"type": "int", "__fastavro_parsed": 1, "__named_schemas": 1}}]}
    parsed = library_schema(parse_registered(lying))
    assert parsed["__named_schemas"].keys() == {"R"}
    assert parsed["fields"][0]["type"] == {"type": "int"}


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        ({"type": "bytes", "precision": 5, "scale": 2}, True),
        ({"type": "bytes", "precision": 5}, True),
        ({"type": "fixed", "name": "F", "size": 2, "precision": 4}, True),
        ({"type": "fixed", "name": "F", "size": 2, "precision": 5}, False),
        ({"type": "bytes", "precision": 3, "scale": 5}, False),
        ({"type": "bytes", "precision": 3, "scale": -1}, False),
        ({"type": "bytes", "precision": "3"}, False),
        ({"type": "bytes", "precision": 0}, False),
        ({"type": "bytes"}, False),
        ({"type": "string", "precision": 3}, False),
    ],
)
def test_decimals_that_are_none_lose_their_logical_type_alone(kind: dict[str, Any], kept: bool) -> None:
    given = {**kind, "logicalType": "decimal"}
    default = [{"logicalType": "decimal"}]
    field = {"name": "a", "type": {"type": "array", "items": ["null", given]}, "default": default}
    record = {"type": "record", "name": "R", "fields": [field]}
    expected = given if kept else kind
    parsed = library_schema(parse_registered(record))["fields"][0]
    assert parsed["default"] == default
    assert parsed["type"]["items"][1].keys() == expected.keys()

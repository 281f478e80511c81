"""Reader schemas that can read every writer, checked with fastavro, and the fields a reader would lose."""

import io
import json
import struct
from typing import Any

import fastavro
import pytest

from penstock.spark.decode.readers import HEADER, MARK, MARK_VALUE, field_paths, framed, missing_fields, reader_definition


def record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


A = {"name": "a", "type": "long"}


def read(reader: str, writer: dict[str, Any], value: dict[str, Any]) -> Any:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, writer, value)
    data.seek(0)
    return fastavro.schemaless_reader(data, writer, json.loads(reader))


@pytest.mark.parametrize(
    "added",
    [
        {"name": "b", "type": ["null", "int"]},
        {"name": "b", "type": ["int", "null"]},
        {"name": "b", "type": "string"},
        {"name": "b", "type": record({"name": "c", "type": "int"}, name="Inner")},
    ],
)
def test_a_field_that_an_old_writer_lacks_is_read_as_null(added: dict[str, Any]) -> None:
    old, new = record(A), record(A, added)
    reader = reader_definition(json.dumps(new), [json.dumps(old), json.dumps(new)])
    assert read(reader, old, {"a": 1}) == {"a": 1, "b": None}


def test_nothing_changes_where_every_writer_can_be_read() -> None:
    new = record(A, {"name": "b", "type": ["null", "int"], "default": None})
    assert json.loads(reader_definition(json.dumps(new), [json.dumps(record(A)), json.dumps(new)])) == new


def test_fields_inside_arrays_maps_and_unions_are_relaxed_too() -> None:
    def nested(*fields: dict[str, Any]) -> dict[str, Any]:
        inner = {"type": "array", "items": {"type": "map", "values": ["null", record(*fields, name="Inner")]}}
        return record({"name": "list", "type": inner})

    old, new = nested(A), nested(A, {"name": "b", "type": "int"})
    reader = reader_definition(json.dumps(new), [json.dumps(old), json.dumps(new)])
    assert read(reader, old, {"list": [{"k": {"a": 1}}]}) == {"list": [{"k": {"a": 1, "b": None}}]}


def test_an_alias_is_the_field_under_its_old_name() -> None:
    old, new = record(A), record({"name": "z", "aliases": ["a"], "type": "long"})
    reader = json.loads(reader_definition(json.dumps(new), [json.dumps(old), json.dumps(new)]))
    assert reader == new
    assert missing_fields(json.dumps(old), json.dumps(new)) == []


def test_missing_fields_are_named_by_their_outermost_path() -> None:
    inner = record({"name": "c", "type": "int"}, {"name": "d", "type": "int"}, name="Inner")
    writer = record(A, {"name": "b", "type": inner}, {"name": "e", "type": {"type": "array", "items": "Inner"}})
    assert missing_fields(json.dumps(writer), json.dumps(record(A))) == ["b", "e"]
    smaller = record({"name": "c", "type": "int"}, name="Inner")
    assert missing_fields(json.dumps(writer), json.dumps(record(A, {"name": "b", "type": smaller}))) == ["b.d", "e"]


def test_recursive_schemas_end() -> None:
    tree = record(A, {"name": "next", "type": ["null", "R"]})
    assert set(field_paths(json.dumps(tree))) == {"a", "next"}
    assert json.loads(reader_definition(json.dumps(tree), [json.dumps(tree)])) == tree


def test_the_frame_is_the_body_and_the_mark() -> None:
    data = io.BytesIO()
    fastavro.schemaless_writer(data, record(A), {"a": 5})
    reader, writer = framed(json.dumps(record(A))), framed(json.dumps(record(A)), header=True)
    whole = io.BytesIO(bytes(HEADER) + data.getvalue() + MARK)
    assert fastavro.schemaless_reader(whole, json.loads(writer), json.loads(reader)) == {
        "body": {"a": 5},
        "tail": MARK_VALUE,
    }
    assert struct.pack("<d", MARK_VALUE) == MARK


def inner(name: str, *fields: str) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": "int"} for field in fields]}


def test_a_name_in_two_namespaces_is_two_types() -> None:
    old = record(
        {"name": "first", "type": inner("n.A", "p")},
        {"name": "second", "type": inner("m.A", "p", "q")},
        {"name": "third", "type": "n.A"},
    )
    new = record(
        {"name": "third", "type": inner("n.A", "p", "q")},
        {"name": "second", "type": inner("m.A", "p", "q")},
        {"name": "first", "type": "n.A"},
    )
    reader = reader_definition(json.dumps(new), [json.dumps(old), json.dumps(new)])
    value = {"first": {"p": 1}, "second": {"p": 2, "q": 3}, "third": {"p": 4}}
    expected = {"first": {"p": 1, "q": None}, "second": {"p": 2, "q": 3}, "third": {"p": 4, "q": None}}
    assert read(reader, old, value) == expected


def test_a_type_used_twice_is_relaxed_for_the_writers_of_both_places() -> None:
    old = record({"name": "a", "type": inner("n.A", "p", "q")}, {"name": "b", "type": inner("m.A", "p")})
    new = record({"name": "a", "type": inner("n.A", "p", "q")}, {"name": "b", "type": "n.A"})
    reader = reader_definition(json.dumps(new), [json.dumps(old), json.dumps(new)])
    assert read(reader, old, {"a": {"p": 1, "q": 2}, "b": {"p": 3}}) == {"a": {"p": 1, "q": 2}, "b": {"p": 3, "q": None}}


def test_a_field_lost_from_one_of_two_types_of_a_name_is_missing() -> None:
    writer = record(
        {"name": "first", "type": inner("n.A", "p", "q")},
        {"name": "second", "type": inner("m.A", "p")},
        {"name": "third", "type": "n.A"},
    )
    reader = record(
        {"name": "first", "type": inner("n.A", "p", "q")},
        {"name": "second", "type": inner("m.A", "p")},
        {"name": "third", "type": "m.A"},
    )
    assert missing_fields(json.dumps(writer), json.dumps(reader)) == ["third.q"]


def test_a_bare_name_in_a_namespace_is_that_namespaces_type() -> None:
    outer = {"type": "record", "name": "R", "namespace": "n", "fields": []}
    fields = [{"name": "a", "type": inner("A", "p", "q")}, {"name": "b", "type": inner("m.A", "p")}]
    writer = {**outer, "fields": [*fields, {"name": "c", "type": "A"}]}
    assert set(field_paths(json.dumps(writer))) == {"a", "a.p", "a.q", "b", "b.p", "c", "c.p", "c.q"}


def test_a_default_that_does_not_fit_stays_as_it_is() -> None:
    wrong = {"name": "b", "type": ["double", "string"], "default": "none"}
    reader = reader_definition(json.dumps(record(A, wrong, {"name": "c", "type": "int"})), [json.dumps(record(A))])
    assert json.loads(reader)["fields"][1]["default"] == "none"

"""Schemas derived from data: what they hold, that order means nothing, and that they only ever grow."""

import json
import random
import warnings
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any
from uuid import UUID

import avro.schema
import fastavro
import pytest
from avro.errors import IgnoredLogicalType
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.schema.compatibility import CompatibilityMode, check
from penstock.schema.diff.compare import compare
from penstock.schema.formats import format_of
from penstock.schema.infer.avro import derive_avro, extend_avro, record_name, room_in_avro, unite_avro
from penstock.schema.infer.errors import CannotDerive, TooManyFields, TypeConflict, UnknownKind
from penstock.schema.infer.rules import InferenceRules
from penstock.schema.infer.shape import NOTHING, merge, shape_of
from tests.unit.schema.typed_records import ANYTHING, batches, expected

AVRO = format_of("AVRO")
EXAMPLES = settings(max_examples=150, deadline=None)


def derived(*records: Any, **rules: Any) -> Any:
    return json.loads(derive_avro(shape_of(records), "sensor", InferenceRules(**rules)))


def types(*records: Any, **rules: Any) -> dict[str, Any]:
    """The fields' types without the null branch, which every one has, and its default."""
    result = {}
    for item in derived(*records, **rules)["fields"]:
        assert (item["type"][0], item["default"]) == ("null", None)
        result[item["name"]] = item["type"][1]
    return result


def extended(definition: Any, *records: Any) -> Any:
    text = definition if isinstance(definition, str) else json.dumps(definition)
    return extend_avro(text, shape_of(records))


def schema(**fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "S", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def test_the_sensor_of_the_seed() -> None:
    first = derive_avro(shape_of([{"deviceId": "000001", "timestamp": 1_700_000_000_000}]), "sensor")
    assert first == (
        '{"type":"record","name":"sensor","fields":[{"name":"deviceId","type":["null","string"],"default":null},'
        '{"name":"timestamp","type":["null","long"],"default":null}]}'
    )
    second = extended(first, {"timestamp": 1, "temperature": 30, "deviceId": "000001"})
    assert second == first.replace("]}", ',{"name":"temperature","type":["null","long"],"default":null}]}')
    assert extended(second, {"deviceId": "000001", "timestamp": 2}) is None


def test_the_type_of_each_kind() -> None:
    aware, naive = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2)
    record = {
        "flag": True, "small": 1, "large": 2**62, "real": 0.5, "text": "2026-01-02", "raw": b"x", "buffer": bytearray(b"x"),
        "day": date(2026, 1, 2), "hour": time(1), "at": aware, "local": naive, "id": UUID(int=1),
        "id_text": str(UUID(int=1)),
        "price": Decimal("12.50"),
    }  # fmt: skip
    assert types(record) == {
        "flag": "boolean",
        "small": "long",
        "large": "long",
        "real": "double",
        "text": "string",
        "raw": "bytes",
        "buffer": "bytes",
        "day": {"type": "int", "logicalType": "date"},
        "hour": {"type": "long", "logicalType": "time-micros"},
        "at": {"type": "long", "logicalType": "timestamp-micros"},
        "local": {"type": "long", "logicalType": "local-timestamp-micros"},
        "id": {"type": "string", "logicalType": "uuid"},
        "id_text": "string",
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2},
    }


def test_numbers_of_a_batch() -> None:
    assert types({"x": 1}, {"x": 2.5}, {"x": None}) == {"x": "double"}
    assert types({"x": 2**60}, {"x": 2.5}) == {"x": "double"}  # a double holds it exactly
    assert types({"x": 1}, {"x": 2**60 + 1}) == {"x": "long"}
    assert types({"x": 1}, whole_numbers="double") == {"x": "double"}
    assert types({"x": Decimal("1.5")}, {"x": Decimal(1000)})["x"]["scale"] == 1


def test_what_has_no_type_makes_no_field() -> None:
    assert types({"n": None, "e": [], "o": {}, "a": [None], "d": {"n": [[]]}, "x": 1}) == {"x": "long"}
    assert derived({})["fields"] == []
    assert types({"a": []}, {"a": [1]}) == {"a": {"type": "array", "items": ["null", "long"]}}


def test_records_and_arrays_inside() -> None:
    result = derived({"pos": {"lat": 1.5}, "legs": [{"to": "JFK"}, {"stops": [[1]]}, None]})
    text = json.dumps(result)
    assert [item["name"] for item in result["fields"]] == ["legs", "pos"]
    leg = result["fields"][0]["type"][1]["items"][1]
    assert (leg["name"], [item["name"] for item in leg["fields"]]) == ("sensor_legs", ["stops", "to"])
    stops = leg["fields"][0]["type"][1]
    assert stops == {"type": "array", "items": ["null", {"type": "array", "items": ["null", "long"]}]}
    assert '"name": "sensor_pos"' in text
    grown = extended(text, {"pos": {"lon": 2.5}, "legs": [{"late": True}]})
    paths = [(change.kind, change.path) for change in compare(AVRO.parse(text), AVRO.parse(grown)).changes]
    assert paths == [("added", "/legs/items/late"), ("added", "/pos/lon")]


def test_two_places_never_share_a_record() -> None:
    result = derive_avro(shape_of([{"a": {"b": {"x": 1}}, "a_b": {"x": "text"}}]), "s")
    parsed = AVRO.parse(result)
    assert sorted(parsed.tree.names) == ["s", "s_a", "s_a_b", "s_a_b_2"]


@pytest.mark.parametrize(
    ("records", "error", "says"),
    [
        ([{"a": {"b": 1}}, {"a": {"b": "x"}}], TypeConflict, "At /a/b: the data has long and string"),
        ([{"a": [1, [2]]}], TypeConflict, "At /a/items: the data has array and long"),
        ([{"a": {}}, {"a": 1}], TypeConflict, "At /a: the data has long and record"),
        ([{"a": True}, {"a": 1}], TypeConflict, "At /a: the data has boolean and long"),
        ([{"a": date.min}, {"a": datetime.min}], TypeConflict, "date and local-timestamp"),
        ([{"a": datetime.min}, {"a": datetime.now(UTC)}], TypeConflict, "local-timestamp and timestamp"),
        ([{"a": 2**60 + 1}, {"a": 0.5}], TypeConflict, "whole numbers (long) that a double does not hold exactly"),
        ([{"a": Decimal("1.5")}, {"a": 1}], TypeConflict, "decimal(2,1) and long"),
        (
            [{"a": Decimal(10) ** 30}, {"a": Decimal("1e-10")}],
            TypeConflict,
            "decimal(41,10), and a decimal has at most 38 digits",
        ),
        ([5], TypeConflict, "the data are long, and schemas are derived from records only"),
        ([None, {}], TypeConflict, "the data are null"),
        ([{"a": 2**63}], UnknownKind, "At /a: the number 9.22337203685477580800e+18 does not fit 64 bits"),
        ([{"a": -(10**400)}], UnknownKind, "does not fit 64 bits"),
        ([{"a": (1, 2)}], UnknownKind, "a value of the Python type tuple has no type in a schema. Make it a list."),
        ([{"a": timedelta(1)}], UnknownKind, "datetime.timedelta"),
        ([{"a": time(1, tzinfo=UTC)}], UnknownKind, "a time of day with a time zone"),
        ([{"a": Decimal("NaN")}], UnknownKind, "NaN is not a number"),
        ([{"a": {1: 2}}], UnknownKind, "At /a: the key 1 is not a string"),
        ([{"a": {"device-id": 2}}], UnknownKind, "At /a: the key 'device-id' is not a valid name of an Avro field"),
        ([{"": 1}], UnknownKind, "the key '' is not a valid name"),
    ],
)
def test_refusals(records: list[Any], error: type[CannotDerive], says: str) -> None:
    with pytest.raises(error) as refused:
        derive_avro(shape_of(records), "s")
    assert says in str(refused.value)
    with pytest.raises(error):
        derive_avro(shape_of(records[::-1]), "s")


def test_data_without_end() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(UnknownKind, match="nests deeper than 32 levels, or contains itself"):
        shape_of([endless])
    deep: Any = 1
    for _ in range(31):
        deep = {"d": [deep]} if _ % 2 else {"d": deep}
    with pytest.raises(UnknownKind, match="deeper"):
        shape_of([deep])
    level: Any = {"x": 1}
    for _ in range(31):
        level = {"d": level}
    assert AVRO.parse(derive_avro(shape_of([level]), "s")).text.count("record") == 32


def test_keys_that_are_data() -> None:
    counts = {f"user{number}": number for number in range(60)}
    with pytest.raises(TooManyFields, match="more than 50 fields, 51 of them in record s_counts"):
        derive_avro(shape_of([{"counts": counts}]), "s", InferenceRules(max_fields=50))
    with pytest.raises(TooManyFields, match="170000"):
        derive_avro(shape_of([{"f" * 300 + str(number): 1 for number in range(900)}]), "s")
    with pytest.raises(TooManyFields, match="100000 different fields"):
        shape_of([{f"k{number}": 1 for number in range(100_001)}])
    known = schema(counts={"type": "map", "values": ["null", "long"]})
    assert extended(known, {"counts": counts}) is None
    with pytest.raises(TypeConflict, match="At /counts/values: the data has string"):
        extended(known, {"counts": {"a": "x"}})


STATE = {"type": "enum", "name": "State", "symbols": ["ON", "OFF"]}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


@pytest.mark.parametrize(
    ("kind", "fits", "refused"),
    [
        ("int", [1, -(2**31)], [2**31, 1.5, "1", None, True]),
        ("long", [1, 2**63 - 1], [1.5, True]),
        ("float", [1, 1.5], ["x"]),
        ("double", [1, 1.5, 2**60], [Decimal(1), "1.5", 2**60 + 1]),
        ("boolean", [True], [1]),
        ("string", ["x", str(UUID(int=1))], [1, b"x", UUID(int=1)]),
        ("bytes", [b"x"], ["x", Decimal(1)]),
        ({"type": "string", "logicalType": "uuid"}, [UUID(int=1), str(UUID(int=1))], ["x"]),
        ({"type": "int", "logicalType": "date"}, [date.min, 5], [datetime.min, "2026-01-01"]),
        ({"type": "long", "logicalType": "timestamp-millis"}, [datetime.now(UTC), 5], [datetime.min, date.min]),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, [datetime.min], [datetime.now(UTC)]),
        ({"type": "long", "logicalType": "nobody-knows"}, [5], [datetime.now(UTC)]),
        (DECIMAL, [Decimal("1234.5"), Decimal(1), b"\0"], [Decimal("12345"), Decimal("0.001"), 1.5]),
        (STATE, ["ON"], [1]),
        ({"type": "fixed", "name": "F", "size": 1}, [b"x"], ["x"]),
        (["null", "long", "string"], [1, "x", None], [1.5, True, [1], {"a": 1}]),
        (["null", {"type": "array", "items": "long"}], [[1], []], [["x"], [None], {"a": 1}]),
        ({"type": "map", "values": "long"}, [{"any key": 1}, {}], [{"a": "x"}, [1]]),
    ],
)
def test_room_in_a_registered_schema(kind: Any, fits: list[Any], refused: list[Any]) -> None:
    known = schema(x=kind)
    has_room = room_in_avro(json.dumps(known))
    for value in fits:
        assert extended(known, {"x": value}) is None
        assert has_room(shape_of([{"x": value}]))
    for value in refused:
        with pytest.raises(TypeConflict, match=r"At /x.*the data has .+, and the registered schema has"):
            extended(known, {"x": value})
        with pytest.raises(TypeConflict):
            has_room(shape_of([{"x": value}]))
    assert not has_room(shape_of([{"y": 1}]))
    assert has_room(shape_of([{"y": None}]))


def test_a_registered_schema_keeps_all_it_says() -> None:
    known = {
        "type": "record", "name": "Flight", "namespace": "com.acme", "doc": "One leg.", "aliases": ["Leg"], "owner": "me",
        "fields": [
            {"name": "z", "type": STATE, "doc": "How.", "default": "ON"},
            {"name": "at", "type": {"type": "record", "name": "Gate", "fields": [{"name": "no", "type": "int"}]}},
            {"name": "then", "type": ["null", "Gate"], "default": None},
        ],
    }  # fmt: skip
    grown = extended(known, {"z": "OFF", "at": {"no": 2}, "then": {"hall": "B"}, "by": {"name": "x"}})
    old, new = AVRO.parse(json.dumps(known)), AVRO.parse(grown)
    schema_diff = compare(old, new)
    assert [(change.kind, change.path) for change in schema_diff.changes] == [("added", "/at/hall"), ("added", "/by")]
    assert schema_diff.breaks == ()
    assert new.tree.names["com.acme.Flight"].fields[-1].name == "by"
    assert "com.acme.Flight_by" in new.tree.names
    assert list(json.loads(grown)) == ["type", "name", "doc", "aliases", "fields", "owner"]


def test_a_type_without_a_namespace_inside_one_that_has_one() -> None:
    bare = {"type": "record", "name": "Bare", "namespace": "", "fields": [{"name": "x", "type": ["null", "long"]}]}
    known = {"type": "record", "name": "n.Top", "fields": [{"name": "a", "type": bare}]}
    grown = extended(known, {"a": {"x": 1, "y": {"z": 1}}})
    assert sorted(AVRO.parse(grown).tree.names) == ["Bare", "Bare_y", "n.Top"]
    assert {change.path for change in compare(AVRO.parse(json.dumps(known)), AVRO.parse(grown)).changes} == {"/a/y"}


def test_several_records_in_a_union() -> None:
    def two(*names: str) -> dict[str, Any]:
        return schema(x=[{"type": "record", "name": name, "fields": [{"name": name, "type": "long"}]} for name in names])

    assert extended(two("a", "b"), {"x": {"b": 1}}) is None
    with pytest.raises(TypeConflict, match="a record that none of these records has room for"):
        extended(two("a", "b"), {"x": {"b": 1, "c": 2}})


def test_a_recursive_schema_grows() -> None:
    tree = {"type": "record", "name": "T", "fields": [{"name": "left", "type": ["null", "T"], "default": None}]}
    grown = extended(tree, {"left": {"left": {"value": 1}}})
    assert [item["name"] for item in json.loads(grown)["fields"]] == ["left", "value"]


def test_what_producers_added_at_once_is_united() -> None:
    base = derive_avro(shape_of([{"id": "1"}]), "s")
    texts = [
        extended(base, {"id": "1", **more}) for more in ({"z": {"b": 1}}, {"z": {"a": 1}, "h": 2}, {"list": [{"n": 1}]})
    ]
    union_of = unite_avro(base, texts)
    assert union_of is not None
    assert union_of == unite_avro(base, texts[::-1]) == unite_avro(base, [union_of])
    assert [item["name"] for item in json.loads(union_of)["fields"]] == ["id", "h", "list", "z"]
    assert all(unite_avro(union_of, [text]) is None for text in (base, *texts))
    conflicting = extended(base, {"h": "text"})
    with pytest.raises(TypeConflict, match="union of null, string, another's union of null, long"):
        unite_avro(conflicting, [texts[1]])


@pytest.mark.parametrize(
    ("schema_name", "name"), [("sensor", "sensor"), ("iot.sensor-1", "iot_sensor_1"), ("1st", "_1st"), ("", "record")]
)
def test_names_of_records(schema_name: str, name: str) -> None:
    assert record_name(schema_name) == name


@EXAMPLES
@given(batch=batches)
def test_records_are_read_back_equal(batch: list[dict[str, Any]]) -> None:
    definition = derived(*batch)
    with warnings.catch_warnings(action="ignore", category=IgnoredLogicalType):
        avro.schema.parse(json.dumps(definition))  # Avro's own Python takes it too
    parsed = fastavro.parse_schema(json.loads(json.dumps(definition)))
    for record in batch:
        out = BytesIO()
        fastavro.schemaless_writer(out, parsed, record)
        out.seek(0)
        assert fastavro.schemaless_reader(out, parsed, None) == expected(record, definition)


@EXAMPLES
@given(batch=batches, seed=st.integers(0, 1000))
def test_neither_order_nor_grouping_means_anything(batch: list[dict[str, Any]], seed: int) -> None:
    shuffled = [shuffle(record, random.Random(seed)) for record in batch]
    random.Random(seed).shuffle(shuffled)
    assert derive_avro(shape_of(shuffled), "s") == derive_avro(shape_of(batch), "s")


def shuffle(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffle(value[key], order) for key in keys}
    return [shuffle(item, order) for item in value] if isinstance(value, list) else value


@EXAMPLES
@given(first=ANYTHING, second=ANYTHING, third=ANYTHING)
def test_shapes_merge_as_sets(first: Any, second: Any, third: Any) -> None:
    one, two, three = (shape_of([value]) for value in (first, second, third))
    assert merge(one, merge(two, three)) == merge(merge(one, two), three) == shape_of([first, second, third])
    assert merge(one, two) == merge(two, one)
    assert merge(one, one) == one == merge(one, NOTHING)


@EXAMPLES
@given(batch=batches, more=batches)
def test_a_known_schema_only_grows(batch: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    first = derive_avro(shape_of(batch), "s")
    assert extend_avro(first, shape_of(batch)) is None
    try:
        second = extend_avro(first, shape_of(more))
    except TypeConflict:
        return
    if second is None:
        return
    assert extend_avro(second, shape_of(more)) is None
    assert unite_avro(second, [first]) is None
    old, new = AVRO.parse(first), AVRO.parse(second)
    assert check(AVRO, CompatibilityMode.FULL, new, [(1, old)]).compatible
    assert {change.kind for change in compare(old, new).changes} == {"added"}


@EXAMPLES
@given(batch=batches)
def test_one_by_one_comes_to_the_fields_of_all_at_once(batch: list[dict[str, Any]]) -> None:
    whole = derive_avro(shape_of(batch), "s")
    grown = derive_avro(shape_of(batch[:1]), "s")
    try:
        for record in batch[1:]:
            grown = extend_avro(grown, shape_of([record])) or grown
    except TypeConflict:
        return  # whole numbers first, fractions or more digits later: together they have one type, one by one they have not
    assert unite_avro(grown, [whole]) is None or "double" in whole or "decimal" in whole


@EXAMPLES
@given(batch=st.lists(ANYTHING, min_size=1, max_size=3))
def test_whatever_the_data_the_answer_is_a_schema_or_a_reason(batch: list[Any]) -> None:
    try:
        definition = derive_avro(shape_of(batch), "s")
    except CannotDerive as refused:
        path = refused.path
    else:
        path = AVRO.parse(definition).tree.root and "/"
    assert path.startswith("/")

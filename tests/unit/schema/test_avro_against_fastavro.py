"""What our parser accepts, fastavro accepts: the serdes can use every definition that the registry keeps.

Two places where Avro's Java, which AWS runs, is followed and fastavro is not: an invalid logical type is ignored (as the
specification asks), and a bare name means the null namespace where the enclosing one has no such type (as Java writes it).
"""

import copy
import json
from typing import Any

import fastavro
import pytest
from avro_schemas import schemas
from fastavro.schema import UnknownType
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_avro_hostile import VALUES, fields_of

from penstock.schema.avro.logical import without_invalid_logical_types
from penstock.schema.avro.model import AvroSchema
from penstock.schema.errors import InvalidSchema
from penstock.schema.formats import format_of

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
NAMES = st.sampled_from(["A", "B", "n.A", "n.B", "m.n.A"])
NAMESPACES = st.sampled_from(["", "n", "m.n"])


def named(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Records in and out of namespaces, of fields that refer to each other by short and full names."""
    kinds = st.one_of(NAMES, DECIMALS, inner, st.lists(st.one_of(NAMES, inner), max_size=3))
    fields = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc"), "type": kinds}), max_size=3)
    return st.fixed_dictionaries(
        {"type": st.just("record"), "name": NAMES, "fields": fields}, optional={"namespace": NAMESPACES}
    )


RELATED = st.recursive(st.sampled_from(["int", "string"]), named, max_leaves=12)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    definition=st.one_of(VALUES, fields_of(VALUES), fields_of(DECIMALS), fields_of(schemas()), RELATED, fields_of(RELATED))
)
def test_what_is_accepted_fastavro_accepts(definition: Any) -> None:
    try:
        tree: AvroSchema = AVRO.parse(json.dumps(definition)).tree
    except InvalidSchema:
        return
    unknown = None
    try:
        fastavro.parse_schema(without_invalid_logical_types(copy.deepcopy(definition)))
    except UnknownType as error:
        unknown = error.name
    if unknown is not None:
        namespace, _, name = unknown.rpartition(".")
        assert namespace
        assert name in tree.names


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
    default = {"logicalType": "decimal"}
    field = {"name": "a", "type": {"type": "array", "items": ["null", given]}, "default": default}
    record = {"type": "record", "name": "R", "fields": [field]}
    wanted = given if kept else kind
    assert without_invalid_logical_types(record) == {
        **record, "fields": [{**field, "type": {"type": "array", "items": ["null", wanted]}}]
    }  # fmt: skip
    assert field["type"]["items"][1] is given  # type: ignore[index]

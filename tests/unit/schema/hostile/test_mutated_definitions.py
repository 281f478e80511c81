"""Valid definitions with something changed in their text: read or refused in words, by every format, and never a defect."""

from collections.abc import Callable

# ruff: noqa: E501 -- definitions, as they are written
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.schema.errors import InvalidSchema, NoColumns, TooComplex
from penstock.schema.formats import format_of
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES

VALID = {
    "AVRO": [
        '{"type":"record","name":"n.R","aliases":["Old"],"doc":"d","fields":[{"name":"a","type":["null","n.R"],"default":null},'
        '{"name":"b","type":{"type":"enum","name":"E","symbols":["X","Y"],"default":"X"},"order":"ignore"},'
        '{"name":"c","type":{"type":"map","values":{"type":"array","items":"long"}},"default":{"k":[1]}},'
        '{"name":"d","type":{"type":"fixed","name":"F","size":8,"logicalType":"decimal","precision":9,"scale":2}},'
        '{"name":"e","type":{"type":"int","logicalType":"date"},"default":-1},{"name":"f","type":"bytes","default":"\\u00ff"}]}',
    ],
    "JSON": [
        '{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://x/a","definitions":{"d":{"type":"string","pattern":'
        '"^(a|b)*$","minLength":1}},"type":"object","properties":{"a":{"$ref":"#/definitions/d"},"b":{"oneOf":[{"type":"null"},'
        '{"const":1}]},"c":{"items":[{"enum":["x",2]}],"additionalItems":false}},"patternProperties":{"^p":{"multipleOf":0.5}},'
        '"required":["a"],"dependencies":{"a":["b"]},"if":{"required":["c"]},"then":{"maxProperties":9},"not":{"minimum":3}}',
        '{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"n":{"$anchor":"n","prefixItems":[true,{"$ref":"#"}],'
        '"items":{"$dynamicRef":"#t"}}},"$dynamicAnchor":"t","allOf":[{"$ref":"#n"}],"unevaluatedProperties":false,'
        '"dependentSchemas":{"a":{"contains":{"type":"integer"},"minContains":2}}}',
    ],
    "PROTOBUF": [
        'syntax = "proto3"; package p.q; import "google/protobuf/timestamp.proto"; option java_package = "a\\x41"; // c\n'
        'message M { reserved 3, 5 to 7; reserved "old"; oneof o { int32 a = 1; string b = 2; } map<string, N> m = 4 '
        '[deprecated = true, json_name = "mm"]; repeated E e = 8; google.protobuf.Timestamp t = 9; message N { optional bool x = 1; } }'
        " enum E { option allow_alias = true; Z = 0; Y = 0; } /* d */ service S { rpc R(stream M) returns (M.N); }",
        'syntax = "proto2"; message M { required group G = 1 { optional double d = 2 [default = -inf]; } extensions 100 to max; '
        'optional string s = 3 [default = "\\n\\u00e9"]; } extend M { repeated int32 x = 101 [packed = true]; }',
    ],
}
PIECES = {
    "AVRO": ['"type":', '"null"', "[]", "{}", "[", "]", "{", "}", ",", "1e9", "-1", "true", '"n.R"', '"decimal"', '"\\ud800"', '""'],
    "JSON": ['"$ref":"#"', '"$id":"b"', "true", "{}", "[]", "null", "0", "1e400", '"#/definitions/d"', '"(("', '"\\udfff"', '"not":', ","],
    "PROTOBUF": ["message M {", "}", ";", "=", "0", "99999999999", "stream", "map<", ">", '"', "/*", "//", "group", "max", "M", ".", "[", "]"],
}  # fmt: skip


@st.composite
def mutated(draw: Callable[..., Any], data_format: str) -> str:
    """A definition in which up to four places were cut, doubled, exchanged or filled with something else."""
    text = str(draw(st.sampled_from(VALID[data_format])))
    for _ in range(draw(st.integers(1, 4))):
        start: int = draw(st.integers(0, len(text)))
        end: int = min(len(text), start + draw(st.sampled_from([0, 1, 2, 5, 20])))
        kind = draw(st.sampled_from(["cut", "double", "insert", "text", "move"]))
        part = text[start:end]
        if kind == "cut":
            text = text[:start] + text[end:]
        elif kind == "double":
            text = text[:end] + part * int(draw(st.sampled_from([1, 2, 40]))) + text[end:]
        elif kind == "move":
            rest = text[:start] + text[end:]
            place: int = draw(st.integers(0, len(rest)))
            text = rest[:place] + part + rest[place:]
        else:
            filling = st.sampled_from(PIECES[data_format]) if kind == "insert" else st.text(max_size=3)
            text = text[:start] + str(draw(filling)) + text[end:]
    return text


@pytest.mark.parametrize("data_format", VALID)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_read_or_refused(data_format: str, data: st.DataObject) -> None:
    rules = format_of(data_format)
    text = data.draw(mutated(data_format))
    try:
        schema = rules.parse(text)
    except InvalidSchema as error:
        schema, refusal = None, str(error)
    if schema is None:
        assert 0 < len(refusal.encode()) < 3_000
        return
    assert rules.parse(schema.canonical).fingerprint == schema.fingerprint
    rules.fields(schema)
    with suppress(NoColumns):
        rules.columns(schema)
    original = rules.parse(VALID[data_format][0])
    for api in (GLUE_RULES, CONFLUENT_RULES):
        for reader, writer in ((schema, original), (original, schema)):
            with suppress(TooComplex):
                for found in rules.readable(reader, writer, api):
                    str(found).encode()


@pytest.mark.parametrize("data_format", VALID)
def test_what_is_changed_was_valid(data_format: str) -> None:
    for text in VALID[data_format]:
        assert format_of(data_format).parse(text).fingerprint

"""What a reader's Protobuf definition may differ in from the writer's, by the rules of each API."""

import pytest

from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.protobuf.resolve import MAX_FOUND
from penstock.schema.rules import CONFLUENT_RULES, GLUE_RULES
from tests.unit.schema.protobuf.protobuf_schemas import PROTOBUF, proto

APIS = {"glue": GLUE_RULES, "confluent": CONFLUENT_RULES}


def found(writer: str, reader: str, api: str, syntax: str = "proto3") -> list[str]:
    return [
        f"{item.rule} at {item.path}" for item in PROTOBUF.readable(proto(reader, syntax), proto(writer, syntax), APIS[api])
    ]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ("message A { int32 a = 1; }", "message A { int32 a = 1; string b = 2; }", []),
        ("message A { int32 a = 1; string b = 2; }", "message A { int32 a = 1; }", []),
        ("message A { int32 a = 1; }", "message A { int32 b = 1; }", []),
        ("message A { int32 a = 1; }", "message A { int32 a = 2; }", []),
        ("message A {}", "message B {} message A {}", []),
        ("message A {} message B {}", "message B {} message A {}", []),
        ("message A {} message B { message C { message D {} } }", "message A {}", ["MESSAGE_REMOVED at /B"]),
        ("message A { message B {} }", "message A {}", ["MESSAGE_REMOVED at /A/B"]),
        ("message A {} message B {}", "message A {} enum B { X = 0; }", ["MESSAGE_REMOVED at /B"]),
        ("message A {} enum E { X = 0; Y = 1; }", "message A {}", []),
        ("enum E { X = 0; Y = 1; } message A { E e = 1; }", "enum E { X = 0; Z = 1; } message A { E e = 1; }", []),
        ("package p; message A {}", "package q; message A {}", ["PACKAGE_CHANGED at /"]),
        ("message A {}", "package q; message A {}", ["PACKAGE_CHANGED at /"]),
        ("message A { int32 a = 1; }", "message A { uint64 a = 1; }", []),
        ("message A { int32 a = 1; }", "message A { E a = 1; } enum E { X = 0; }", []),
        ("message A { bool a = 1; }", "message A { int64 a = 1; }", []),
        ("message A { string a = 1; }", "message A { bytes a = 1; }", []),
        ("message A { sint32 a = 1; }", "message A { sint64 a = 1; }", []),
        ("message A { fixed32 a = 1; }", "message A { sfixed32 a = 1; }", []),
        ("message A { int32 a = 1; }", "message A { sint32 a = 1; }", ["FIELD_SCALAR_KIND_CHANGED at /A/a"]),
        ("message A { int32 a = 1; }", "message A { string a = 1; }", ["FIELD_SCALAR_KIND_CHANGED at /A/a"]),
        ("message A { fixed32 a = 1; }", "message A { fixed64 a = 1; }", ["FIELD_SCALAR_KIND_CHANGED at /A/a"]),
        ("message A { float a = 1; }", "message A { double a = 1; }", ["FIELD_SCALAR_KIND_CHANGED at /A/a"]),
        (
            "message A { message B { int32 a = 1; } }",
            "message A { message B { float z = 1; } }",
            ["FIELD_SCALAR_KIND_CHANGED at /A/B/z"],
        ),
        ("message A { int32 a = 1; }", "message A { A a = 1; }", ["FIELD_KIND_CHANGED at /A/a"]),
        ("message A { bytes a = 1; }", "message A { A a = 1; }", ["FIELD_KIND_CHANGED at /A/a"]),
        ("message A { map<string, int32> a = 1; }", "message A { repeated string a = 1; }", ["FIELD_KIND_CHANGED at /A/a"]),
        ("message A { map<string, int32> a = 1; }", "message A { map<string, int64> a = 1; }", []),
        (
            "message A { map<string, int32> a = 1; }",
            "message A { map<int32, int32> a = 1; }",
            ["FIELD_SCALAR_KIND_CHANGED at /A/a/key"],
        ),
        (
            "message A { map<string, int32> a = 1; }",
            "message A { map<string, A> a = 1; }",
            ["FIELD_KIND_CHANGED at /A/a/value"],
        ),
        (
            "message A { B b = 1; } message B {} message C {}",
            "message A { C b = 1; } message B {} message C {}",
            ["FIELD_NAMED_TYPE_CHANGED at /A/b"],
        ),
        ("message A { B b = 1; } message B {}", "message A { repeated B b = 1; } message B {}", []),
        ("message A { optional string a = 1; }", "message A { repeated string a = 1; }", []),
        (
            "message A { optional int32 a = 1; }",
            "message A { repeated int32 a = 1; }",
            ["FIELD_NUMERIC_LABEL_CHANGED at /A/a"],
        ),
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            "message A { oneof o { int32 a = 1; int32 b = 2; int32 c = 3; } }",
            [],
        ),
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            "message A { oneof o { int32 a = 1; } }",
            ["ONEOF_FIELD_REMOVED at /A/o/b"],
        ),
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            "message A { int32 a = 1; }",
            ["ONEOF_FIELD_REMOVED at /A/o/b"],
        ),
        ("message A { oneof o { int32 a = 1; int32 b = 2; } }", "message A { oneof p { int32 a = 1; int32 b = 2; } }", []),
        # Confluent 8.1's OneOfDiff: what a oneof that stays by name no longer lists is removed from it, wherever it went.
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            "message A { int32 a = 1; oneof o { int32 b = 2; } }",
            ["ONEOF_FIELD_REMOVED at /A/o/a"],
        ),
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            "message A { oneof p { int32 a = 1; } oneof o { int32 b = 2; } }",
            ["ONEOF_FIELD_REMOVED at /A/o/a"],
        ),
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            "message A { int32 a = 1; oneof p { int32 b = 2; } }",
            [],
        ),
        ("message A { oneof o { int32 a = 1; int32 b = 2; } }", "message A { int32 a = 1; int32 b = 2; }", []),
        ("message A { oneof o { int32 a = 1; int32 b = 2; } int32 c = 3; }", "message A { int32 c = 3; }", []),
        ("message A { int32 a = 1; }", "message A { oneof o { int32 a = 1; int32 b = 2; } }", []),
        (
            "message A { int32 a = 1; int32 b = 2; }",
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            ["MULTIPLE_FIELDS_MOVED_TO_ONEOF at /A/o"],
        ),
        (
            "message A { int32 a = 1; oneof o { int32 b = 2; } }",
            "message A { oneof o { int32 a = 1; int32 b = 2; } }",
            ["FIELD_MOVED_TO_EXISTING_ONEOF at /A/o"],
        ),
        ("message A { optional int32 a = 1; }", "message A { oneof o { int32 a = 1; } }", []),
    ],
)
def test_both_apis(api: str, writer: str, reader: str, expected: list[str]) -> None:
    assert found(writer, reader, api) == expected


@pytest.mark.parametrize(
    ("syntax", "writer", "reader", "glue", "confluent"),
    [
        # Labels that the text does not have are not compared by Confluent.
        (
            "proto3",
            "message A { int32 a = 1; }",
            "message A { repeated int32 a = 1; }",
            ["FIELD_NUMERIC_LABEL_CHANGED at /A/a"],
            [],
        ),
        (
            "proto2",
            "message A {}",
            "message A { required int32 a = 1; }",
            ["REQUIRED_FIELD_ADDED at /A/a"],
            ["REQUIRED_FIELD_ADDED at /A/a"],
        ),
        ("proto2", "message A { required int32 a = 1; }", "message A {}", [], ["REQUIRED_FIELD_REMOVED at /A/a"]),
        (
            "proto2",
            "message A { optional string a = 1; }",
            "message A { required string a = 1; }",
            ["REQUIRED_FIELD_ADDED at /A/a"],
            [],
        ),
        (
            "proto2",
            "message A { required int32 a = 1; }",
            "message A { optional int32 a = 1; }",
            [],
            ["FIELD_NUMERIC_LABEL_CHANGED at /A/a"],
        ),
        ("proto2", "message A { required string a = 1; }", "message A { optional string a = 1; }", [], []),
        (
            "proto2",
            "message A { optional group G = 1 {} message H {} }",
            "message A { optional H g = 1; message G {} message H {} }",
            ["FIELD_KIND_CHANGED at /A/g"],
            ["FIELD_KIND_CHANGED at /A/g"],
        ),
        ("proto3", "message A { reserved 2; }", "message A { int32 a = 2; }", ["RESERVED_FIELD_REUSED at /A/a"], []),
        ("proto3", 'message A { reserved "a"; }', "message A { int32 a = 2; }", ["RESERVED_FIELD_REUSED at /A/a"], []),
        (
            "proto3",
            "message A {} enum E { reserved 5; X = 0; }",
            "message A {} enum E { X = 0; Y = 5; }",
            ["RESERVED_VALUE_REUSED at /E/Y"],
            [],
        ),
        ("proto3", "message A {} service S {}", "message A {}", ["SERVICE_REMOVED at /S"], []),
        (
            "proto3",
            "message A {} service S { rpc B(A) returns (A); }",
            "message A {} service S {}",
            ["RPC_REMOVED at /S/B"],
            [],
        ),
        ("proto3", "message A {} service S {}", "message A {} service S { rpc B(A) returns (A); }", [], []),
        (
            "proto3",
            "message A {} service S { rpc B(A) returns (A); }",
            "message A {} service S { rpc B(A) returns (stream A); }",
            ["RPC_SIGNATURE_CHANGED at /S/B"],
            [],
        ),
    ],
)
def test_where_the_apis_differ(syntax: str, writer: str, reader: str, glue: list[str], confluent: list[str]) -> None:
    assert found(writer, reader, "glue", syntax) == glue
    assert found(writer, reader, "confluent", syntax) == confluent


def test_the_sides_and_the_remedy_are_told() -> None:
    (item,) = PROTOBUF.readable(
        proto("message A { string a = 7; }"), proto("message A { optional int32 a = 7; }"), GLUE_RULES
    )
    assert item.to_json() == {
        "path": "/A/a",
        "rule": "FIELD_SCALAR_KIND_CHANGED",
        "reader": "string a = 7",
        "writer": "optional int32 a = 7",
        "message": "Field 7 is encoded in another way. "
        "Use int32, int64, uint32, uint64, bool or an enum, or a new field number.",
    }


def importing(body: str, dependency: str, name: str = "dep.proto") -> ParsedSchema:
    reference = ReferencedText(name=name, text=f'syntax = "proto3"; {dependency}')
    return PROTOBUF.parse(f'syntax = "proto3"; import "{name}"; {body}', [reference])


@pytest.mark.parametrize("api", APIS)
def test_imported_messages_are_compared_where_they_are_used(api: str) -> None:
    def rules(writer: ParsedSchema, reader: ParsedSchema) -> list[str]:
        return [f"{item.rule} at {item.path}" for item in PROTOBUF.readable(reader, writer, APIS[api])]

    uses = "message A { d.B b = 1; }"
    old = importing(uses, "package d; message B { C c = 1; } message C { int32 x = 1; B b = 2; } message U { int32 u = 1; }")
    same = importing(uses, "package d; message C { int64 y = 1; B b = 2; } message B { C c = 1; }", "other.proto")
    assert rules(old, same) == []
    deep = importing(
        uses, "package d; message B { C c = 1; } message C { string x = 1; B b = 2; } message U { string u = 1; }"
    )
    assert rules(old, deep) == ["FIELD_SCALAR_KIND_CHANGED at /C/x"]
    package = importing("message A { e.B b = 1; }", "package e; message B { C c = 1; } message C { int32 x = 1; B b = 2; }")
    assert rules(old, package) == []
    # The type moved out of the file is missing in it; moved into the file it is just there.
    local = proto("message A { B b = 1; } message B { C c = 1; } message C { int32 x = 1; B b = 2; }")
    assert rules(local, old) == ["MESSAGE_REMOVED at /B", "MESSAGE_REMOVED at /C"]
    assert rules(old, local) == []


def test_definitions_that_differ_everywhere_are_cut_short() -> None:
    def body(kind: str) -> str:
        return "message A {" + "".join(f"{kind} f{number} = {number};" for number in range(1, 1_000)) + "}"

    assert len(PROTOBUF.readable(proto(body("int32")), proto(body("string")), GLUE_RULES)) == MAX_FOUND


def test_long_chains_of_imported_types_are_followed_to_their_end() -> None:
    def chain(last: str) -> ParsedSchema:
        links = "".join(f"message M{number} {{ M{number + 1} next = 1; }} " for number in range(2_000))
        return importing("message A { d.M0 first = 1; }", f"package d; {links} message M2000 {{ {last} x = 1; }}")

    (item,) = PROTOBUF.readable(chain("int32"), chain("string"), CONFLUENT_RULES)
    assert item.path == "/M2000/x"


def test_an_editions_features_count() -> None:
    plain = PROTOBUF.parse('edition = "2023"; message A { int32 a = 1; A b = 2; }')
    required = PROTOBUF.parse(
        'edition = "2023"; message A { int32 a = 1 [features.field_presence = LEGACY_REQUIRED]; A b = 2; }'
    )
    delimited = PROTOBUF.parse(
        'edition = "2023"; option features.message_encoding = DELIMITED; message A { int32 a = 1; A b = 2; }'
    )
    assert [item.rule for item in PROTOBUF.readable(required, plain, GLUE_RULES)] == ["REQUIRED_FIELD_ADDED"]
    assert [item.rule for item in PROTOBUF.readable(delimited, plain, GLUE_RULES)] == ["FIELD_KIND_CHANGED"]

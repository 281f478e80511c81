"""One schema, many spellings: the canonical text of Protobuf definitions, and that it compiles to what it came from."""

import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import HealthCheck, given, settings

from penstock.schema.errors import InvalidSchema
from penstock.schema.format import ReferencedText
from penstock.schema.protobuf.model import ProtoTree
from penstock.schema.protobuf.render import render_file
from tests.unit.schema.protobuf.protobuf_files import files
from tests.unit.schema.protobuf.protobuf_schemas import AS_JAVA_RENDERS_IT, AS_WRITTEN, DEPENDENCY, PROTOBUF, meaning, proto


def test_what_java_renders_is_what_was_written() -> None:
    written = PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY])
    rendered = PROTOBUF.parse(AS_JAVA_RENDERS_IT, [DEPENDENCY])
    assert rendered.canonical == written.canonical
    assert rendered.fingerprint == written.fingerprint
    assert meaning(rendered.tree.file) == meaning(written.tree.file)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("message A { int32 a = 1; string b = 2; }", "message A { string b=2;int32 a=1; }"),
        ("message A { int32 a = 1; }", "/* c */ message A { // d\n int32 /* e */ a = 0x1; }"),
        ("message A { B b = 1; message B {} }", "message A { message B {} .A.B b = 1; }"),
        ("message A {} enum E { X = 0; } enum D { Y = 0; }", "enum D { Y = 0; } message A {} enum E { X = 0; }"),
        ("message A { reserved 1, 2, 3, 5; }", "message A { reserved 5; reserved 1 to 3; }"),
        ('message A { reserved "x", "y"; }', 'message A { reserved "y"; reserved "x"; }'),
        ("message A { map<string, A> m = 1; }", "message A { map < string , .A > m = 1 ; }"),
        (
            "message A { map<string, A> m_x = 1; }",
            "message A { repeated MXEntry m_x = 1; message MXEntry { option map_entry=true; string key=1; A value=2; } }",
        ),
        (
            "message A { map<string, int32> m = 1; }",
            "message A { message MEntry { option /* ; */ map_entry\n = true ; optional string key = 1;"
            " optional int32 value = 2; } repeated MEntry m = 1; string s = 2; }".replace(" string s = 2;", ""),
        ),
        ("message A { int32 a_b = 1; }", 'message A { int32 a_b = 1 [json_name = "aB"]; }'),
        (
            "message A { oneof o { int32 a = 1; int32 b = 2; } int32 c = 3; }",
            "message A { int32 c = 3; oneof o { int32 b = 2; int32 a = 1; } }",
        ),
        (
            'option java_package = "x"; option go_package = "y"; message A {}',
            'option go_package = "y"; message A {} option java_package = "x";',
        ),
        (
            "message A {} service S { rpc B(A) returns (A); rpc C(A) returns (A); }",
            "message A {} service S { rpc C(A) returns (A) {} rpc B(A) returns (A) {} }",
        ),
        ("enum E { Z = 0; A = 1; B = 2; } message M {}", "enum E { Z = 0; B = 2; A = 1; } message M {}"),
        ("package p; message A { .p.A a = 1; }", "package p; message A { p.A a = 1; }"),
    ],
)
def test_spellings_of_one_schema(one: str, other: str) -> None:
    assert proto(one).canonical == proto(other).canonical
    assert proto(one).fingerprint == proto(other).fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # Confluent's frames name a message by its position.
        ("message A {} message B {}", "message B {} message A {}"),
        ("message M { message A {} message B {} }", "message M { message B {} message A {} }"),
        ("message A { int32 a = 1; }", "message A { int32 a = 2; }"),
        ("message A { int32 a = 1; }", "message A { optional int32 a = 1; }"),
        ("message A { int32 a = 1; }", 'message A { int32 a = 1 [json_name = "b"]; }'),
        ("message A { int32 a = 1; }", "message A { int32 a = 1 [deprecated = true]; }"),
        ("message A { int32 a = 1; }", "package p; message A { int32 a = 1; }"),
        ("message A { }", "message A { reserved 1; }"),
        ("enum E { A = 0; B = 1; }", "enum E { A = 0; C = 1; }"),
        ("enum E { option allow_alias = true; A = 0; B = 0; }", "enum E { option allow_alias = true; B = 0; A = 0; }"),
        ("message A { string s = 1; } // option map_entry = true;", "message A { bytes s = 1; }"),
    ],
)
def test_schemas_that_are_not_one(one: str, other: str) -> None:
    assert proto(one).canonical != proto(other).canonical
    assert proto(one).fingerprint != proto(other).fingerprint


def test_a_text_without_syntax_is_proto2() -> None:
    bare = PROTOBUF.parse("message A { optional int32 a = 1; }")
    assert bare.canonical == proto("message A { optional int32 a = 1; }", "proto2").canonical


def test_words_in_comments_and_strings_stay() -> None:
    text = 'option java_package = "option map_entry = true;"; /* option map_entry = true; */ message A { int32 a = 1; }'
    assert 'java_package = "option map_entry = true;"' in proto(text).canonical


@pytest.mark.parametrize(
    ("rendered", "written"),
    [
        (r'"Acme\Billing\Bad"', r'"Acme\\Billing\\Bad"'),
        (r'"Acme\users\xylophone"', r'"Acme\\users\\xylophone"'),
        (r"'Acme\Zoo'", r'"Acme\\Zoo"'),
        (r'"\u00e9\x41\101"', '"éAA"'),
        (r"""'\"' /* "\q" */""", r'"\""'),
    ],
)
def test_backslashes_that_java_does_not_escape(rendered: str, written: str) -> None:
    text = "option php_namespace = %s; message A { int32 a = 1; }"
    assert proto(text % rendered).fingerprint == proto(text % written).fingerprint
    assert rendered in proto(text % rendered).text


@pytest.mark.parametrize("value", [r'"a\"b\q"', r'"a\q', r'"a\"', '"\\'])
def test_strings_that_no_backslash_more_would_end(value: str) -> None:
    with pytest.raises(InvalidSchema):
        proto(f"option php_namespace = {value}; message A {{ int32 a = 1; }}")


@pytest.mark.parametrize(
    "body",
    [
        r'message A { optional string s = 1 [default = "q\"\\\n\001\303\251\x7f"]; }',
        r'message A { optional bytes b = 2 [default = "\000\377\""]; }',
        "message A { optional float f = 1 [default = -inf]; optional double d = 2 [default = nan]; }",
        "message A { optional float g = 3 [default = 1e-9]; optional uint64 u = 1 [default = 18446744073709551615]; }",
        "message A { optional E e = 2 [default = B]; } enum E { A1 = 1; B = -2; }",
        "message A { message X {} optional group G = 1 { optional int32 x = 1; } message Y {} repeated group H = 2 { } }",
        "message A { oneof o { int32 i = 9; group G = 2 { optional A a = 1; } group F = 1 {} } message Z {} }",
        "message A { extensions 10 to 20, 30 to max; message B { extend A { optional group Gx = 11 {} } } }"
        " extend A { repeated string y = 12; }",
        "message A { option message_set_wire_format = true; extensions 4 to max; }",
        """
        import "google/protobuf/descriptor.proto";
        message O { optional string s = 1; optional O o = 2; map<string, double> m = 3; repeated E e = 4; extensions 100; }
        enum E { X = 0; }
        extend O { optional int32 ext = 100; }
        extend google.protobuf.FieldOptions { optional O fo = 50001; repeated float fl = 50002; }
        extend google.protobuf.EnumValueOptions { optional E ev = 50003; }
        message A {
          optional int32 a = 1 [
            lazy = false, (fl) = 1.1, (fl) = inf,
            (fo) = {s: "x" o {s: "\\001"} m {key: "b" value: 1.5} e: X [ext]: 7}
          ];
        }
        enum V { W = 0 [(ev) = X]; }
        """,
    ],
)
def test_proto2_survives_its_canonical_text(body: str) -> None:
    first = proto(body, "proto2")
    again = PROTOBUF.parse(first.canonical)
    assert again.canonical == first.canonical
    assert meaning(again.tree.file) == meaning(first.tree.file)


@pytest.mark.parametrize(
    "text",
    [
        'edition = "2023"; option features.field_presence = IMPLICIT; message A { int32 a = 1 [features.field_presence = '
        "LEGACY_REQUIRED]; reserved foo; A b = 2 [features.message_encoding = DELIMITED]; }",
        'edition = "2024"; export message A { local message B {} int32 a = 1; } local enum E { X = 0; }',
    ],
)
def test_editions_survive_their_canonical_text(text: str) -> None:
    first = PROTOBUF.parse(text)
    again = PROTOBUF.parse(first.canonical)
    assert again.canonical == first.canonical
    assert meaning(again.tree.file) == meaning(first.tree.file)


def test_an_editions_map_entry() -> None:
    body = "repeated MEntry m = 1; message MEntry { option map_entry = true; string key = 1; int32 value = 2; }"
    spelled = PROTOBUF.parse(f'edition = "2023"; message A {{ {body} }}')
    assert spelled.canonical == PROTOBUF.parse('edition = "2023"; message A { map<string, int32> m = 1; }').canonical


def test_what_is_imported_is_a_part_of_the_schema() -> None:
    text = 'syntax = "proto3"; import "dep.proto"; message A { d.Dep d = 1; }'
    other = ReferencedText(name="dep.proto", text=DEPENDENCY.text.replace("int32", "int64"))
    same = ReferencedText(name="dep.proto", text=DEPENDENCY.text.replace(";", " ; "))
    unused = ReferencedText(name="unused.proto", text='syntax = "proto3";')
    schema = PROTOBUF.parse(text, [DEPENDENCY])
    assert PROTOBUF.parse(text, [other]).canonical == schema.canonical
    assert PROTOBUF.parse(text, [other]).fingerprint != schema.fingerprint
    assert PROTOBUF.parse(text, [unused, same]).fingerprint == schema.fingerprint


def test_googles_own_imports_are_the_same_with_and_without_a_reference() -> None:
    text = 'syntax = "proto3"; import "google/protobuf/timestamp.proto"; message A { google.protobuf.Timestamp t = 1; }'
    reference = ReferencedText(
        name="google/protobuf/timestamp.proto", text='syntax = "proto3"; package google.protobuf; message Timestamp {}'
    )
    assert PROTOBUF.parse(text, [reference]).fingerprint == PROTOBUF.parse(text).fingerprint


def test_a_descriptor_in_base64_is_its_text() -> None:
    written = PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY])
    read = PROTOBUF.parse(PROTOBUF.serialized(written), [DEPENDENCY])
    assert read.text == read.canonical == written.canonical
    assert read.fingerprint == written.fingerprint
    reference = ReferencedText(name="dep.proto", text=PROTOBUF.serialized(PROTOBUF.parse(DEPENDENCY.text)))
    assert PROTOBUF.parse(AS_WRITTEN, [reference]).fingerprint == written.fingerprint


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(files())
def test_descriptors_survive_their_text(file: FileDescriptorProto) -> None:
    text = render_file(ProtoTree(files=[file]))
    schema = PROTOBUF.parse(text)
    assert meaning(schema.tree.file) == meaning(file)
    assert schema.canonical == text
    assert PROTOBUF.parse(base64.b64encode(file.SerializeToString()).decode()).canonical == text

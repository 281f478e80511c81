"""Protobuf definitions that are read, those that are not and why, and what the wire formats need of them."""

import sys
from importlib import import_module

import pytest
from confluent_kafka.schema_registry.common.protobuf import _create_index_array, _str_to_proto
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from penstock.errors import EnvironmentProblem
from penstock.schema.errors import InvalidSchema
from penstock.schema.format import MAX_DEFINITION_CHARS, ParsedSchema, ReferencedText
from penstock.schema.protobuf import compiler, parse
from tests.unit.schema.protobuf.protobuf_schemas import AS_WRITTEN, DEPENDENCY, PROTOBUF, meaning, proto


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "declares nothing"),
        ("/* nothing */ ;", "declares nothing"),
        ("message", r"line 1, column 8: Expected message name"),
        ('syntax = "proto3";\nmessage A {\n  B b = 1;\n}\n', r'line 3, column 3: "B" is not defined'),
        ('syntax = "proto3"; message A { int32 a = 1; int32 b = 1; }', r"(?s)Field number 1 has already been used"),
        ('syntax = "proto3"; message A { int32 a = 1; int32 a = 2; }', r'"a" is already defined'),
        ('syntax = "proto3"; message A { reserved 1; int32 a = 1; }', r"reserved number 1"),
        ('syntax = "proto3"; message A { required int32 a = 1; }', r"Required fields are not allowed in proto3"),
        ('syntax = "proto3"; enum E { A = 1; }', r"first enum value must be zero"),
        ('syntax = "proto3"; message A { map<float, int32> a = 1; }', r"Key in map fields"),
        ('syntax = "proto3"; message A { int32 a = 0; }', r"positive integers"),
        ('syntax = "proto3"; message A {} message A {}', r'"A" is already defined'),
        ('syntax = "proto4"; message A {}', r'Unrecognized syntax identifier "proto4"'),
        ('edition = "2033"; message A {}', r'Unknown edition "2033"'),
        ('{"type": "record"}', r"Expected top-level statement"),
        ('syntax = "proto3"; message A { string s = 1; \0 }', r"Invalid control characters"),
        ('syntax = "proto3"; message A { // \udcff\n }', r"lone surrogate at character 34"),
        ('syntax = "proto3"; import "a/b.proto"; message A { B b = 1; }', r"The import 'a/b.proto' is not known"),
        ('syntax = "proto3"; import "penstock-definition.proto"; message A {}', r"recursively imports itself"),
        ('syntax = "proto3"; import "../a.proto"; message A {}', r"not allowed in the virtual path|is not known"),
        ('syntax = "proto3"; import "/etc/passwd"; message A {}', r"not allowed in the virtual path|is not known"),
        ('syntax = "proto3"; import "google/protobuf/nothing.proto"; message A {}', r"is not known"),
        ("a" * (MAX_DEFINITION_CHARS + 1), r"the limit is 170000"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        PROTOBUF.parse(text)


ENTRY = "message A { repeated %s m = 1; message %s { option map_entry = true; %s } }"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "message A { message X { option map_entry = true; string key = 1; int32 value = 2; } }",
            "not exactly one repeated",
        ),
        (ENTRY % ("X", "X", "string key = 1; int32 value = 2;"), "its name is not MEntry"),
        (ENTRY % ("MEntry", "MEntry", "string key = 1; int32 value = 3;"), "key = 1 and value = 2"),
        (ENTRY % ("MEntry", "MEntry", "string key = 1; int32 value = 2; int32 x = 3;"), "key = 1 and value = 2"),
        (ENTRY % ("MEntry", "MEntry", "float key = 1; int32 value = 2;"), "not an integer, a bool or a string"),
        (ENTRY % ("MEntry", "MEntry", "string key = 1; repeated int32 value = 2;"), "required or repeated"),
        (ENTRY % ("MEntry", "MEntry", "string key = 1; int32 value = 2; reserved 3;"), "more than its two fields"),
        (ENTRY % ("MEntry", "MEntry", "string key = 1; int32 value = 2 [deprecated = true];"), "have options"),
    ],
)
def test_map_entries_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        proto(text)


def test_a_name_like_the_marker_is_not_one() -> None:
    schema = proto('message A { reserved "penstock_map_entry"; map<string, int32> m = 1; }')
    assert 'reserved "penstock_map_entry"' in schema.canonical
    body = "repeated MEntry m = 1; message MEntry { option map_entry = true; string key = 1; int32 value = 2; }"
    both = proto(f'message A {{ reserved "penstock_map_entry"; {body} }}')
    assert both.canonical == schema.canonical


def test_what_an_import_gets_wrong_is_told_by_its_name() -> None:
    reference = ReferencedText(name="dep.proto", text='syntax = "proto3";\nmessage B { C c = 1; }')
    with pytest.raises(InvalidSchema, match=r"in the import 'dep.proto', line 2, column 13: \"C\" is not defined"):
        PROTOBUF.parse('syntax = "proto3"; import "dep.proto"; message A { B b = 1; }', [reference])


@pytest.mark.parametrize(
    "name", ["", "/a", "a//b", "../a", "a/../b", "./a", "a\\b", "a\0", "a\n", "x" * 256, "penstock-definition.proto"]
)
def test_references_that_cannot_be_paths(name: str) -> None:
    with pytest.raises(InvalidSchema, match="cannot be the path of an import"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', [ReferencedText(name=name, text='syntax = "proto3";')])


def test_references_that_contradict_each_other() -> None:
    first, second = (ReferencedText(name="a.proto", text=f'syntax = "proto{version}";') for version in (2, 3))
    assert PROTOBUF.parse('syntax = "proto3"; message A {}', [first, first]).tree.file.message_type
    with pytest.raises(InvalidSchema, match="Two different texts"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', [first, second])
    inside = ReferencedText(name="a.proto/b.proto", text='syntax = "proto3";')
    with pytest.raises(InvalidSchema, match="cannot be a file"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', [first, inside])


def test_references_are_bounded() -> None:
    many = [ReferencedText(name=f"a{number}.proto", text="") for number in range(parse.MAX_REFERENCES + 1)]
    with pytest.raises(InvalidSchema, match="the limits are 1000"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', many)
    large = [ReferencedText(name=f"a{number}.proto", text=" " * 169_999) for number in range(30)]
    with pytest.raises(InvalidSchema, match="4000000 characters"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', large)
    with pytest.raises(InvalidSchema, match=r"The import 'a.proto' has 170001 characters"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', [ReferencedText(name="a.proto", text=" " * 170_001)])


def test_descriptors_among_the_references_are_bounded() -> None:
    text = PROTOBUF.serialized(PROTOBUF.parse(DEPENDENCY.text))
    many = [ReferencedText(name=f"a{number}.proto", text=text) for number in range(51)]
    with pytest.raises(InvalidSchema, match="51 of the imports are descriptors"):
        PROTOBUF.parse('syntax = "proto3"; message A {}', many)


def test_descriptors_that_build_on_descriptors() -> None:
    options = PROTOBUF.parse(
        'syntax = "proto3"; package o; import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { string tag = 50001; }"
    )
    first = ReferencedText(name="o.proto", text=PROTOBUF.serialized(options))
    text = 'syntax = "proto3"; package b; import "o.proto"; message B { int32 x = 1 [(o.tag) = "t"]; }'
    second = ReferencedText(name="b.proto", text=PROTOBUF.serialized(PROTOBUF.parse(text, [first])))
    user = 'syntax = "proto3"; import "b.proto"; message A { b.B b = 1; }'
    written = [ReferencedText(name="o.proto", text=options.text), ReferencedText(name="b.proto", text=text)]
    assert PROTOBUF.parse(user, [first, second]).fingerprint == PROTOBUF.parse(user, written).fingerprint


@pytest.mark.parametrize("text", ['\ufeffsyntax = "proto3";\nmessage A {}', 'syntax = "proto3";\r\nmessage A {\r\n}\r\n'])
def test_what_editors_leave_in_files(text: str) -> None:
    assert PROTOBUF.parse(text).fingerprint == proto("message A {}").fingerprint


def test_references_through_references() -> None:
    texts = {
        "c/c.proto": 'syntax = "proto3"; package c; message C { int32 x = 1; }',
        "b.proto": 'syntax = "proto3"; package b; import public "c/c.proto"; message B { c.C c = 1; }',
    }
    references = [ReferencedText(name=name, text=text) for name, text in texts.items()]
    schema = PROTOBUF.parse('syntax = "proto3"; import "b.proto"; message A { b.B b = 1; c.C c = 2; }', references)
    assert [file.name for file in schema.tree.files] == ["c/c.proto", "b.proto", "penstock-definition.proto"]


@pytest.mark.parametrize(
    "garbage",
    ["aaaa", "message1", "QUJD", "CgA=", "////", "EgN4eXo=", "IgA="],
)
def test_words_that_happen_to_be_base64(garbage: str) -> None:
    with pytest.raises(InvalidSchema):
        PROTOBUF.parse(garbage)


def test_descriptors_that_no_compiler_makes() -> None:
    file = type(proto("message A {}").tree.file)(syntax="proto3")
    file.message_type.add(name="A {} message B")
    with pytest.raises(InvalidSchema, match="means something else"):
        PROTOBUF.parse(PROTOBUF.serialized(with_file(file)))
    file.message_type[0].name = "A {"
    with pytest.raises(InvalidSchema, match="not valid Protobuf"):
        PROTOBUF.parse(PROTOBUF.serialized(with_file(file)))


def with_file(file: FileDescriptorProto) -> ParsedSchema:
    schema = proto("message A {}")
    schema.tree.files[-1].CopyFrom(file)
    return schema


def test_confluents_python_client_reads_what_is_served_serialized() -> None:
    schema = PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY])
    read = _str_to_proto("x.proto", PROTOBUF.serialized(schema))
    assert [item.name for item in read.message_type] == ["M", "Second"]
    assert list(read.dependency) == list(schema.tree.file.dependency)


def test_message_indexes() -> None:
    schema = proto("package p; message Z {} message M { message X {} map<string, int32> m = 1; message B {} } message a {}")
    tree = schema.tree
    names = tree.names_glue()
    assert names == ["p.M", "p.M.B", "p.M.MEntry", "p.M.X", "p.Z", "p.a"]
    assert [tree.message_index_glue(name) for name in names] == list(range(6))
    pool = DescriptorPool()
    for file in tree.files:
        pool.AddSerializedFile(file.SerializeToString())
    for item in tree.own_messages:
        index = _create_index_array(pool.FindMessageTypeByName(item.full_name))
        assert list(tree.message_indexes_confluent(item.full_name)) == list(index)
    for lookup in (tree.message_index_glue, tree.message_indexes_confluent):
        with pytest.raises(InvalidSchema, match=r"no message p\.N"):
            lookup("p.N")


def test_the_first_message_is_the_records() -> None:
    assert proto("enum E { X = 0; } message B { message A {} } message A {}").tree.first_message.full_name == "B"


@pytest.mark.parametrize("module", ["grpc_tools", "google.protobuf"])
def test_what_is_not_installed_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(compiler, "find_spec", lambda _: None)
    pool = compiler.CompilerPool()
    monkeypatch.setattr(compiler, "_POOL", pool)
    compiler.shipped_files.cache_clear()
    with pytest.raises(EnvironmentProblem, match=r"pip install 'penstock\[protobuf\]'"):
        PROTOBUF.parse('syntax = "proto3"; message A {}')


@pytest.mark.parametrize("module", ["meta_pb2", "type.decimal_pb2", "type.variant_pb2", "types.decimal_pb2"])
def test_what_confluents_registry_knows_is_there(module: str) -> None:
    theirs = descriptor_pb2.FileDescriptorProto()
    import_module(f"confluent_kafka.schema_registry.confluent.{module}").DESCRIPTOR.CopyToProto(theirs)
    schema = proto(f'import "{theirs.name}"; message A {{}}')
    ours = next(file for file in schema.tree.files if file.name == theirs.name)
    assert meaning(ours) == meaning(theirs)
    assert {(item.extendee, item.number) for item in ours.extension} == {
        (item.extendee, item.number) for item in theirs.extension
    }


def test_googles_common_types_are_there() -> None:
    text = """
    import "google/type/money.proto"; import "google/api/field_behavior.proto"; import "google/api/annotations.proto";
    import "confluent/meta.proto"; import "confluent/type/decimal.proto";
    message A {
      google.type.Money price = 1 [(google.api.field_behavior) = REQUIRED];
      confluent.type.Decimal tax = 2 [(confluent.field_meta) = {doc: "d" tags: "PII" params {key: "precision" value: "8"}}];
    }
    service S { rpc Get (A) returns (A) { option (google.api.http) = {get: "/v1/{price.units}"}; } }
    """
    schema = proto(text)
    assert '(.confluent.field_meta) = { doc: "d" params { key: "precision" value: "8" } tags: "PII" }' in schema.canonical
    assert PROTOBUF.parse(schema.canonical).fingerprint == schema.fingerprint
    mine = ReferencedText(name="google/type/money.proto", text='syntax = "proto3"; package google.type; message Money {}')
    assert PROTOBUF.parse(f'syntax = "proto3";{text}', [mine]).fingerprint == schema.fingerprint


@pytest.mark.parametrize(
    "path", ["google/type/date_pb2.py", "google/cloud/common_resources.proto", "grpc_tools/_proto/x.proto"]
)
def test_other_installed_files_are_not_there(path: str) -> None:
    with pytest.raises(InvalidSchema):
        proto(f'import "{path}"; message A {{}}')

"""Protobuf definitions with what they import in one file; the reference is Google's runtime over the separate files."""

from typing import Any

import pytest
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from penstock.schema.errors import NotSelfContained
from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.formats.protobuf import ProtobufFormat

OPTIONS = """syntax = "proto2"; package acme.opt; import "google/protobuf/descriptor.proto";
extend google.protobuf.FieldOptions { optional bool secret = 50001; } message Unused { required int32 a = 1; }"""
COMMON = """syntax = "proto3"; package acme.common; import "acme/opt.proto"; import "google/protobuf/duration.proto";
message Address {
  string city = 1 [(acme.opt.secret) = true]; Kind kind = 2; map<string, Deep> deeps = 3;
  message Deep { repeated int32 x = 1; google.protobuf.Duration age = 2; Address near = 3; }
}
enum Kind { HOME = 0; WORK = 1; }
message Unused { string a = 1; }"""
MAIN = """syntax = "proto3"; package sales; import "acme/common.proto"; import "acme/opt.proto";
import "google/protobuf/timestamp.proto"; option java_package = "com.acme";
message zebra {
  acme.common.Address home = 1; string s = 2 [(acme.opt.secret) = true]; google.protobuf.Timestamp at = 3;
  oneof one { acme.common.Address.Deep deep = 4; int32 n = 5; }
  message Inner { repeated acme.common.Kind kinds = 1; }
}
message A { repeated acme.common.Kind kinds = 1; zebra.Inner inner = 2; }
service S { rpc Go (A) returns (acme.common.Address); }"""
REFERENCES = (("acme/opt.proto", OPTIONS), ("acme/common.proto", COMMON))
VALUES: dict[str, dict[str, Any]] = {
    "sales.zebra": {
        "home": {"city": "Rome", "kind": "WORK", "deeps": {"k": {"x": [1, 300], "age": "3s", "near": {"city": "Pisa"}}}},
        "s": "t",
        "at": "2026-01-02T03:04:05Z",
        "deep": {"x": [7]},
    },
    "sales.zebra.Inner": {"kinds": ["WORK", "HOME"]},
    "sales.A": {"kinds": ["HOME"], "inner": {"kinds": ["WORK"]}},
}


def parse(text: str, references: tuple[Any, ...] = REFERENCES) -> ParsedSchema:
    return ProtobufFormat().parse(text, tuple(ReferencedText(name=name, text=item) for name, item in references))


def message(schema: ParsedSchema, name: str) -> Any:
    pool = DescriptorPool()
    for file in schema.tree.files:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))


def test_one_file_reads_what_many_wrote() -> None:
    apart = parse(MAIN)
    together = parse(ProtobufFormat().standalone(apart), ())
    assert [file.name for file in together.tree.files[:-1]] == [
        "google/protobuf/duration.proto",
        "google/protobuf/timestamp.proto",
    ]
    for name, value in VALUES.items():
        data = ParseDict(value, message(apart, name)()).SerializeToString()
        assert MessageToDict(message(together, name).FromString(data)) == value
        assert ParseDict(value, message(together, name)()).SerializeToString() == data
        # What stands before a message in either family's frames.
        assert together.tree.message_index_glue(name) == apart.tree.message_index_glue(name)
        assert together.tree.message_indexes_confluent(name) == apart.tree.message_indexes_confluent(name)
    assert "Unused" not in together.text
    assert together.tree.file.options.java_package == "com.acme"


def test_a_proto2_extension_comes_along() -> None:
    common = 'syntax = "proto2"; package c; message M { extensions 10 to 20; } extend M { optional string more = 12; }'
    apart = parse('syntax = "proto2"; import "c.proto"; message zz { required c.M m = 1; }', (("c.proto", common),))
    together = parse(ProtobufFormat().standalone(apart), ())
    (extension,) = (item for outer in together.tree.file.message_type for item in outer.extension)
    assert (extension.name, extension.number) == ("more", 12)
    assert together.tree.names_glue()[0] == "zz"


def test_googles_own_files_stay_imports_and_the_text_stays_as_it_is() -> None:
    text = 'syntax = "proto3";\n\nimport "google/protobuf/any.proto"; message A { google.protobuf.Any a = 1; }'
    assert ProtobufFormat().standalone(parse(text)) == text


def test_another_syntax_is_said() -> None:
    other = 'syntax = "proto2"; message M { required int32 a = 1; }'
    with pytest.raises(NotSelfContained, match="proto2"):
        ProtobufFormat().standalone(
            parse('syntax = "proto3"; import "o.proto"; message A { repeated M m = 1; }', (("o.proto", other),))
        )

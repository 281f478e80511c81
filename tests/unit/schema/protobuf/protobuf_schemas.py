"""Protobuf definitions that several tests read, and what they mean apart from how they are written."""

from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
)

from penstock.schema.format import ParsedSchema, ReferencedText
from penstock.schema.formats.protobuf import ProtobufFormat

PROTOBUF = ProtobufFormat()

AS_WRITTEN = """\
syntax = "proto3";
package a.b;
import "google/protobuf/timestamp.proto";
import "dep.proto";
import public "google/protobuf/wrappers.proto";
option java_package = "com.x";
option java_multiple_files = true;
option optimize_for = SPEED;

/* The record. */
message M {
  string name = 1; // who
  optional int32 age = 2;
  repeated string tags = 3;
  map<string, int64> counts = 4;
  map<int32, Inner> m2 = 5;
  oneof choice { string a = 6; Inner b = 7; int32 c_d = 8; }
  optional Inner oi = 9;
  google.protobuf.Timestamp t = 10;
  d.Dep dep = 11;
  google.protobuf.StringValue w = 12;
  Color color = 13;
  repeated Color colors = 14 [packed=false];
  bytes by = 15 [deprecated = true];
  string jj = 16 [json_name="JJ"];
  message Inner {
    string x = 1;
    message Deep { map<string, Deep> d = 1; }
    Deep deep = 2;
    enum E2 { Z=0; Y=-1; }
  }
  reserved 100, 200 to 210, 1000 to max;
  reserved "foo", "bar";
  enum Nested { option allow_alias=true; NA = 0; NB = 1; NC = 1; reserved "QQ"; }
}
enum Color { RED = 0; GREEN = 1; }
message Second { Second self = 1; sint32 a=2; fixed64 b=3; }
service S {
  rpc Get (M) returns (Second) { option deprecated = true; option idempotency_level = IDEMPOTENT; }
  rpc St (stream M) returns (stream Second);
  option deprecated = true;
}
"""

# What AWS's Java serde 1.1.27 registers for a message of AS_WRITTEN.
AS_JAVA_RENDERS_IT = """\
// Proto schema formatted by Wire, do not edit.
// Source: 

syntax = "proto3";

package a.b;

import "google/protobuf/timestamp.proto";
import "dep.proto";
import public "google/protobuf/wrappers.proto";

option java_package = "com.x";
option java_multiple_files = true;
option optimize_for = SPEED;

message M {
  reserved "foo";
  reserved "bar";
  reserved 100 to 100;
  reserved 200 to 210;
  reserved 1000 to max;

  string name = 1;

  repeated string tags = 3;

  repeated .a.b.M.CountsEntry counts = 4;

  repeated .a.b.M.M2Entry m2 = 5;

  .google.protobuf.Timestamp t = 10;

  .d.Dep dep = 11;

  .google.protobuf.StringValue w = 12;

  .a.b.Color color = 13;

  repeated .a.b.Color colors = 14 [packed = false];

  bytes by = 15 [deprecated = true];

  string jj = 16 [json_name = "JJ"];

  optional int32 age = 2;

  optional .a.b.M.Inner oi = 9;

  oneof choice {
    string a = 6;
    .a.b.M.Inner b = 7;
    int32 c_d = 8;
  }

  message CountsEntry {
    option map_entry = true;
  
    string key = 1;
  
    int64 value = 2;
  }

  message M2Entry {
    option map_entry = true;
  
    int32 key = 1;
  
    .a.b.M.Inner value = 2;
  }

  message Inner {
    string x = 1;
  
    .a.b.M.Inner.Deep deep = 2;
  
    message Deep {
      repeated .a.b.M.Inner.Deep.DEntry d = 1;
    
      message DEntry {
        option map_entry = true;
      
        string key = 1;
      
        .a.b.M.Inner.Deep value = 2;
      }
    }
  
    enum E2 {
      Z = 0;
      Y = -1;
    }
  }

  enum Nested {
    reserved "QQ";
    option allow_alias = true;
    NA = 0;
    NB = 1;
    NC = 1;
  }
}

message Second {
  .a.b.Second self = 1;

  sint32 a = 2;

  fixed64 b = 3;
}

enum Color {
  RED = 0;
  GREEN = 1;
}

service S {
  option deprecated = true;

  rpc Get (.a.b.M) returns (.a.b.Second) {
    option deprecated = true;
    option idempotency_level = IDEMPOTENT;
  };
  rpc St (stream .a.b.M) returns (stream .a.b.Second);
}
"""  # noqa: W291, W293 - as the client sends it

DEPENDENCY = ReferencedText(name="dep.proto", text='syntax = "proto3"; package d; message Dep { int32 x = 1; }')


def proto(body: str, syntax: str = "proto3") -> ParsedSchema:
    return PROTOBUF.parse(f'syntax = "{syntax}";\n{body}')


def meaning(file: FileDescriptorProto) -> dict[str, Any]:
    """A FileDescriptorProto as plain values in which nothing is left that a canonical text may change."""
    return {
        "syntax": file.syntax or "proto2",
        "package": file.package,
        "imports": sorted(file.dependency),
        "options": file.options.SerializeToString(deterministic=True),
        "messages": [_message(item) for item in file.message_type],
        "enums": {item.name: _enum(item) for item in file.enum_type},
        "services": {item.name: {method.name: _method(method) for method in item.method} for item in file.service},
    }


def _message(proto: DescriptorProto) -> dict[str, Any]:
    oneofs = [item.name for item in proto.oneof_decl]
    return {
        "name": proto.name,
        "options": proto.options.SerializeToString(deterministic=True),
        "fields": {
            item.number: (
                item.name,
                item.label,
                item.type,
                item.type_name,
                item.default_value,
                item.proto3_optional,
                oneofs[item.oneof_index] if item.HasField("oneof_index") and not item.proto3_optional else None,
                _json_name(item),
                item.options.SerializeToString(deterministic=True),
            )
            for item in proto.field
        },
        "messages": [_message(item) for item in proto.nested_type if not item.options.map_entry],
        "entries": {item.name: _message(item) for item in proto.nested_type if item.options.map_entry},
        "enums": {item.name: _enum(item) for item in proto.enum_type},
        "reserved": (_runs(proto.reserved_range), set(proto.reserved_name)),
    }


def _method(proto: MethodDescriptorProto) -> tuple[str, str, tuple[bool, bool], bytes]:
    streams = (proto.client_streaming, proto.server_streaming)
    return proto.input_type, proto.output_type, streams, proto.options.SerializeToString(deterministic=True)


def _runs(spans: Any) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if runs and runs[-1][1] >= start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return runs


def _enum(proto: EnumDescriptorProto) -> tuple[Any, ...]:
    first, *rest = [(value.name, value.number, value.options.SerializeToString()) for value in proto.value]
    return first, sorted(rest), proto.options.SerializeToString(), set(proto.reserved_name)


def _json_name(item: FieldDescriptorProto) -> str | None:
    head, *tail = item.name.split("_")
    plain = head + "".join(part[:1].upper() + part[1:] for part in tail)
    return item.json_name if item.json_name not in {"", plain} else None

"""Columns and fields from Protobuf definitions: every type, and what has no columns."""

import pytest

from penstock.schema.columns import HiveColumn
from penstock.schema.errors import NoColumns
from penstock.schema.format import Field, ReferencedText
from tests.unit.schema.protobuf.protobuf_schemas import AS_WRITTEN, DEPENDENCY, PROTOBUF, proto

IMPORTS = "".join(
    f'import "google/protobuf/{name}.proto"; ' for name in ("timestamp", "wrappers", "duration", "struct", "empty")
)


def hive(kind: str, *, also: str = "", syntax: str = "proto3") -> str:
    return PROTOBUF.columns(proto(f"{IMPORTS} message R {{ {kind} c = 1; }} {also}", syntax))[0].type


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int32", "int"),
        ("sint32", "int"),
        ("sfixed32", "int"),
        ("int64", "bigint"),
        ("sint64", "bigint"),
        ("sfixed64", "bigint"),
        ("uint32", "bigint"),
        ("fixed32", "bigint"),
        ("uint64", "decimal(20,0)"),
        ("fixed64", "decimal(20,0)"),
        ("float", "float"),
        ("double", "double"),
        ("bool", "boolean"),
        ("string", "string"),
        ("bytes", "binary"),
        ("optional int32", "int"),
        ("E", "string"),
        ("S", "struct<x:int,y:array<string>>"),
        ("repeated S", "array<struct<x:int,y:array<string>>>"),
        ("repeated uint32", "array<bigint>"),
        ("map<string, double>", "map<string,double>"),
        ("map<int64, S>", "map<bigint,struct<x:int,y:array<string>>>"),
        ("map<bool, E>", "map<boolean,string>"),
        ("google.protobuf.Timestamp", "timestamp"),
        ("repeated google.protobuf.Timestamp", "array<timestamp>"),
        ("google.protobuf.Duration", "struct<seconds:bigint,nanos:int>"),
        ("google.protobuf.BoolValue", "boolean"),
        ("google.protobuf.BytesValue", "binary"),
        ("google.protobuf.DoubleValue", "double"),
        ("google.protobuf.FloatValue", "float"),
        ("google.protobuf.Int32Value", "int"),
        ("google.protobuf.Int64Value", "bigint"),
        ("google.protobuf.StringValue", "string"),
        ("google.protobuf.UInt32Value", "bigint"),
        ("google.protobuf.UInt64Value", "decimal(20,0)"),
    ],
)
def test_types(kind: str, expected: str) -> None:
    assert hive(kind, also="enum E { X = 0; } message S { int32 x = 1; repeated string y = 2; }") == expected


def test_groups_are_structs() -> None:
    schema = proto(
        "message R { optional group G = 1 { optional int32 x = 1; } repeated group H = 2 { required bool y = 1; } }",
        "proto2",
    )
    assert [(item.name, item.type) for item in PROTOBUF.columns(schema)] == [
        ("g", "struct<x:int>"),
        ("h", "array<struct<y:boolean>>"),
    ]


def test_the_first_message_gives_the_columns_and_its_comments_theirs() -> None:
    text = """
    // Not a field's.
    enum E { X = 0; }
    message Flight {
      // The carrier's code,
      // two letters.
      string carrier = 2;
      int32 delay = 1; // minutes
      /*
       * Where to.
       */
      string to = 3;
      string from = 4;
      oneof kind {
        /* a */ bool cargo = 5;
      }
    }
    message Other { string not_here = 1; }
    """
    assert PROTOBUF.columns(proto(text)) == (
        HiveColumn(name="carrier", type="string", comment="The carrier's code, two letters."),
        HiveColumn(name="delay", type="int", comment="minutes"),
        HiveColumn(name="to", type="string", comment="Where to."),
        HiveColumn(name="from", type="string"),
        HiveColumn(name="cargo", type="boolean", comment="a"),
    )


@pytest.mark.parametrize(
    ("kind", "also", "reason"),
    [
        ("R", "", "/c: message R contains itself"),
        ("S", "message S { map<string, T> t = 1; } message T { S s = 1; }", "/c/t/values/s: message S contains itself"),
        ("S", "message S {}", "/c: message S has no fields"),
        ("google.protobuf.Empty", "", "has no fields"),
        ("google.protobuf.Struct", "", "contains itself"),
    ],
)
def test_no_columns(kind: str, also: str, reason: str) -> None:
    with pytest.raises(NoColumns, match=reason):
        hive(kind, also=also)


def test_columns_need_a_message() -> None:
    with pytest.raises(NoColumns, match="the definition has none"):
        PROTOBUF.columns(proto("enum E { X = 0; }"))
    assert PROTOBUF.fields(proto("enum E { X = 0; }")) == ()


def test_types_that_double_at_each_level_are_refused_before_they_are_built() -> None:
    levels = "".join(f"message N{level} {{ N{level - 1} l = 1; N{level - 1} r = 2; }} " for level in range(1, 40))
    with pytest.raises(NoColumns, match="131072"):
        hive("N39", also=levels + "message N0 { int32 v = 1; }")


def test_long_chains_of_messages_are_refused() -> None:
    levels = "".join(f"message N{level} {{ N{level - 1} n = 1; }} " for level in range(1, 1_500))
    with pytest.raises(NoColumns, match="64 levels"):
        hive("N1499", also=levels + "message N0 { int32 v = 1; }")


def test_imported_types_are_structs() -> None:
    text = f'syntax = "proto3"; import "{DEPENDENCY.name}"; message A {{ d.Dep dep = 1; }}'
    assert PROTOBUF.columns(PROTOBUF.parse(text, [DEPENDENCY])) == (HiveColumn(name="dep", type="struct<x:int>"),)


def test_fields() -> None:
    schema = PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY])
    fields = {item.name: item for item in PROTOBUF.fields(schema)}
    assert fields["name"] == Field(name="name", type="string", doc="who", required=False)
    assert {name: fields[name].type for name in ("tags", "counts", "m2", "b", "t", "color")} == {
        "tags": "repeated string",
        "counts": "map<string, int64>",
        "m2": "map<int32, a.b.M.Inner>",
        "b": "a.b.M.Inner",
        "t": "google.protobuf.Timestamp",
        "color": "a.b.Color",
    }
    (field,) = PROTOBUF.fields(proto("message A { required int32 a = 1; }", "proto2"))
    assert field == Field(name="a", type="required int32", required=True)


def test_comments_of_an_import_are_not_the_definitions() -> None:
    reference = ReferencedText(name="x.proto", text='syntax = "proto3"; /* no */ message A { int32 a = 1; /* no */ }')
    schema = PROTOBUF.parse('syntax = "proto3"; import "x.proto"; package p; message A { int32 a = 1; }', [reference])
    assert schema.tree.comments == {}


def test_comments_of_what_is_no_field_or_message_are_left_out() -> None:
    text = """
    // M
    message M {
      // no
      option deprecated = true;
      // no
      enum E {
        // no
        option allow_alias = true;
        // no
        X = 0;
        Y = 0; // no
      }
      // In
      message In {
        // no
        enum F { Z = 0; }
        // f
        optional F f = 1 [
          // no
          deprecated = true
        ];
      }
      // no
      reserved 20;
      // no
      extensions 100 to 200;
      // no
      extend M {
        // no
        optional int32 e = 100;
      }
      // no
      oneof o {
        // s
        string s = 2;
      }
    }
    // no
    service S {
      // no
      rpc Do(M) returns (M);
    }
    """
    assert proto(text, "proto2").tree.comments == {"M": "M", "M.In": "In", "M.In.f": "f", "M.s": "s"}

"""A schema for each row of docs/pipelines/types.md, by the words of its first column."""

from typing import Any

_R = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}


def _logical(kind: str, logical_type: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": logical_type, **more}


AVRO: dict[str, Any] = {
    "`null`": "null",
    "`boolean`": "boolean",
    "`int`": "int",
    "`long`": "long",
    "`float`": "float",
    "`double`": "double",
    "`bytes`": "bytes",
    "`string`": "string",
    "`fixed`": {"type": "fixed", "name": "F", "size": 3},
    "`enum`": {"type": "enum", "name": "E", "symbols": ["A", "B"]},
    "array of `int`": {"type": "array", "items": "int"},
    "map of `long`": {"type": "map", "values": "long"},
    "record of `a: int`": _R,
    "`date`": _logical("int", "date"),
    "`time-millis`": _logical("int", "time-millis"),
    "`time-micros`": _logical("long", "time-micros"),
    "`timestamp-millis`": _logical("long", "timestamp-millis"),
    "`timestamp-micros`": _logical("long", "timestamp-micros"),
    "`timestamp-nanos`": _logical("long", "timestamp-nanos"),
    "`local-timestamp-millis`": _logical("long", "local-timestamp-millis"),
    "`local-timestamp-micros`": _logical("long", "local-timestamp-micros"),
    "`decimal(10,2)` as bytes": _logical("bytes", "decimal", precision=10, scale=2),
    "`decimal(18,4)` as fixed": _logical("fixed", "decimal", name="D", size=8, precision=18, scale=4),
    "`uuid` as string": _logical("string", "uuid"),
    "`uuid` as fixed": _logical("fixed", "uuid", name="U", size=16),
    "`duration`": _logical("fixed", "duration", name="P", size=12),
    "union of `null` and one type, here `string`": ["null", "string"],
    "union of `int` and `long`": ["int", "long"],
    "union of `float` and `double`": ["float", "double"],
    "union of several types, here `int` and `string`": ["null", "int", "string"],
}

JSON: dict[str, Any] = {
    "`boolean`": {"type": "boolean"},
    "`integer`": {"type": "integer"},
    "`number`": {"type": "number"},
    "`string`, with any `format`": {"type": "string", "format": "date-time"},
    "`enum` or `const` of one type, here strings": {"enum": ["a", "b"]},
    "array of `integer`": {"type": "array", "items": {"type": "integer"}},
    "array of a tuple": {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
    "object with `properties`": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "object with a schema for `additionalProperties`": {"type": "object", "additionalProperties": {"type": "number"}},
    "object of anything": {"type": "object"},
    "a type or `null`, here `integer`": {"type": ["integer", "null"]},
    "several types, or any": {"type": ["string", "object"]},
    "`null` alone": {"type": "null"},
}

PROTOBUF: dict[str, str] = {
    "`double`": "double {}",
    "`float`": "float {}",
    "`int32`, `sint32`, `sfixed32`": "sint32 {}",
    "`int64`, `sint64`, `sfixed64`": "sfixed64 {}",
    "`uint32`, `fixed32`": "fixed32 {}",
    "`uint64`, `fixed64`": "uint64 {}",
    "`bool`": "bool {}",
    "`string`": "string {}",
    "`bytes`": "bytes {}",
    "enum": "E {}",
    "message of `int32 a`": "M {}",
    "repeated `int32`": "repeated int32 {}",
    "map of `string` to `int64`": "map<string, int64> {}",
    "`google.protobuf.Timestamp`": "google.protobuf.Timestamp {}",
    "`google.protobuf.Duration`": "google.protobuf.Duration {}",
    "`google.protobuf.StringValue` and the other wrappers": "google.protobuf.StringValue {}",
    "`google.protobuf.Any`": "google.protobuf.Any {}",
}


def avro_schema() -> dict[str, Any]:
    """A record with a field ``fN`` for each case."""
    fields = [{"name": f"f{number}", "type": kind} for number, kind in enumerate(AVRO.values())]
    return {"type": "record", "name": "Types", "fields": fields}


def json_schema() -> dict[str, Any]:
    """An object with a property ``fN`` for each case."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {f"f{number}": kind for number, kind in enumerate(JSON.values())},
    }


def protobuf_schema() -> str:
    """A message with a field ``fN`` for each case."""
    fields = "\n".join(f"  {kind.format(f'f{number}')} = {number + 1};" for number, kind in enumerate(PROTOBUF.values()))
    imports = "".join(f'import "google/protobuf/{name}.proto";\n' for name in ("timestamp", "duration", "wrappers", "any"))
    others = "enum E { ZERO = 0; }\nmessage M { int32 a = 1; }\n"
    return f'syntax = "proto3";\n{imports}message Types {{\n{fields}\n}}\n{others}'

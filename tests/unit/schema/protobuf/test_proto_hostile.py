"""Protobuf definitions made to hurt: each is refused or read, and the process that reads it lives on."""

import base64
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.schema.errors import InvalidSchema, NoColumns
from penstock.schema.format import ReferencedText
from penstock.schema.protobuf.source import MAX_DEPTH
from penstock.schema.rules import GLUE_RULES
from tests.unit.schema.protobuf.hostile_protobuf import ENDED_THE_COMPILER, OPTION
from tests.unit.schema.protobuf.protobuf_schemas import PROTOBUF, proto


def read(text: str) -> Any:
    """The schema, or nothing where it is refused in few words."""
    try:
        return PROTOBUF.parse(text)
    except InvalidSchema as error:
        if not 0 < len(str(error)) < 2_000:
            raise AssertionError(f"an error of {len(str(error))} characters") from None
        return None


@pytest.mark.parametrize("body", ENDED_THE_COMPILER, ids=["braces", "angles", "dots", "groups"])
def test_nesting_is_bounded(body: str) -> None:
    with pytest.raises(InvalidSchema, match=r"nest more than 50 levels|over 32 parts"):
        proto(body, "proto2")


def test_the_deepest_that_is_let_through_is_read() -> None:
    value = "{ m " * (MAX_DEPTH - 3) + "{}" + "}" * (MAX_DEPTH - 3)
    assert "option" in proto(OPTION + f"message X {{ option (opt){'.m' * 31} = {value}; }}", "proto2").canonical
    inner = "message X { option (opt)" + ".m" * 31 + " = " + "{ m " * 18 + "{}" + "}" * 18 + "; }"
    assert proto(OPTION + "message A {" * 29 + inner + "}" * 29, "proto2").canonical
    with pytest.raises(InvalidSchema, match="recursion limit"):
        proto("message A {" * 40 + "}" * 40)


@pytest.mark.parametrize(
    "body",
    [
        "{" * 169_000,
        "/*" * 80_000,
        '"' * 169_000,
        "'\\" * 80_000,
        ";" * 169_000,
        "//" + "x" * 169_000,
        "message " + "A" * 160_000 + " {}",
        "package a" + ".a" * 80_000 + ";",
        "message A { int32 a = " + "9" * 160_000 + "; }",
        "message A { a" + ".a" * 80_000 + " f = 1; }",
        "option map_entry = true;" * 7_000,
        "option" + " " * 169_000,
        "message A { " + "option map_entry = true; " * 6_000 + "}",
        'import "' + "a/" * 80_000 + '";',
        "".join(f'import "a{number}.proto";' for number in range(7_000)),
        "message A {" + "".join(f"B{number} f{number} = {number + 1};" for number in range(7_000)) + "}",
        "message A { string s = 1; \0\0\0 }",
    ],
    ids=lambda body: body[:12],
)
def test_refused_or_read(body: str) -> None:
    schema = read('syntax = "proto3"; ' + body)
    assert schema is None or len(schema.canonical) < 1_000_000


@pytest.mark.parametrize(
    "body",
    [
        "".join(f"message M{number} {{}} " for number in range(8_000)),
        "message A {" + "".join(f"A f{number} = {number + 1};" for number in range(8_000)) + "}",
        "message A {" + "".join(f"map<int32, A> f{number} = {number + 1};" for number in range(4_500)) + "}",
        "message A {" + "".join(f"oneof o{number} {{ int32 f{number} = {number + 1}; }}" for number in range(3_800)) + "}",
        "message A {} enum E {" + "".join(f"V{number} = {number};" for number in range(9_000)) + "}",
        "message A { reserved " + ", ".join(f"{2 * number + 1}" for number in range(5_000)) + "; }",
        "message A {} service S {" + "".join(f"rpc R{number}(A) returns (A);" for number in range(5_000)) + "}",
        "".join(f"message M{number} {{ M{number + 1} m = 1; M{number + 2} n = 2; }} " for number in range(3_200))
        + "message M3200 {} message M3201 {}",
    ],
    ids=["messages", "fields", "maps", "oneofs", "values", "reserved", "methods", "mesh"],
)
def test_large_ones_are_read_compared_and_rendered(body: str) -> None:
    schema = proto(body)
    assert PROTOBUF.readable(schema, schema, GLUE_RULES) == []
    assert PROTOBUF.parse(PROTOBUF.serialized(schema)).fingerprint == schema.fingerprint
    PROTOBUF.fields(schema)
    with suppress(NoColumns):
        PROTOBUF.columns(schema)


def test_recursive_messages_are_fine() -> None:
    schema = proto("message A { B b = 1; map<string, A> m = 2; } message B { A a = 1; repeated B b = 2; }")
    assert PROTOBUF.readable(schema, schema, GLUE_RULES) == []


def test_imports_that_import_each_other() -> None:
    ring = [
        ReferencedText(name=f"{number}.proto", text=f'syntax = "proto3"; import "{(number + 1) % 100}.proto";')
        for number in range(100)
    ]
    with pytest.raises(InvalidSchema, match="recursively imports itself"):
        PROTOBUF.parse('syntax = "proto3"; import "0.proto"; message A {}', ring)


def test_imports_that_double_at_each_level() -> None:
    levels = 300
    texts = [
        ReferencedText(
            name=f"{level}.proto",
            text='syntax = "proto3";'
            + "".join(f'import public "{other}.proto";' for other in range(max(0, level - 8), level)),
        )
        for level in range(levels)
    ]
    schema = PROTOBUF.parse(f'syntax = "proto3"; import "{levels - 1}.proto"; message A {{}}', texts)
    assert len(schema.tree.files) == levels + 1


def test_nothing_beside_the_references_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.proto").write_text('syntax = "proto3"; message Here {}')
    monkeypatch.chdir(tmp_path)
    for path in ("here.proto", str(tmp_path / "here.proto"), "../here.proto", "./here.proto"):
        with pytest.raises(InvalidSchema):
            proto(f'import "{path}"; message A {{ Here h = 1; }}')


def test_a_descriptor_that_nests_without_end() -> None:
    data = b""
    for _ in range(3_000):
        # nested_type = 3 of a DescriptorProto
        data = b"\x1a" + _varint(len(data)) + data
    for tag in (b"\x22", b"\x1a"):
        with pytest.raises(InvalidSchema):
            PROTOBUF.parse(base64.b64encode(tag + _varint(len(data)) + data).decode())


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


WORDS = [
    "message",
    "enum",
    "oneof",
    "map<",
    "reserved",
    "option",
    "map_entry",
    "= true;",
    "extend",
    "group",
    "service",
    "rpc",
]


PIECES = st.sampled_from([*WORDS, *"{}[]()<>;=.,\"'/*\\\n", "//", "/*", "*/", "A", "b", "int32", "1", "max", "to", "import"])


@settings(max_examples=200, deadline=None)
@example("message A { message MEntry { option map_entry = true; } }")
@example('"\\')
@given(st.one_of(st.lists(PIECES, max_size=40).map(" ".join), st.text(max_size=60)))
def test_any_text_is_read_or_refused(text: str) -> None:
    schema = read(text)
    assert schema is None or PROTOBUF.parse(schema.canonical).canonical == schema.canonical


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80))
def test_any_descriptor_is_read_or_refused(data: bytes) -> None:
    schema = read(base64.b64encode(data).decode())
    assert schema is None or PROTOBUF.parse(schema.canonical).canonical == schema.canonical


@pytest.mark.parametrize("statement", ["reserved", "extensions"])
def test_ranges_are_counted_before_the_compiler_sees_them(statement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def ranges(number: int, comment: str = "") -> str:
        return f"{statement} {comment} " + ", ".join(f"{2 * one + 1} to {2 * one + 1}" for one in range(number)) + ";"

    monkeypatch.setattr("penstock.schema.protobuf.parse.compile_files", None)
    for body in (ranges(5_001), ranges(5_001, "/* , */"), "reserved 0; " * 5_001):
        with pytest.raises(InvalidSchema, match="5001 ranges in its reserved and extensions statements; the limit is 5000"):
            proto(f"message A {{ {body} }}", "proto2")
    monkeypatch.undo()
    strings = "reserved " + ", ".join(f'"f{one}"' for one in range(5_001)) + ";"
    assert proto(f"message A {{ {ranges(5_000)} {strings} optional int32 reserved = 100000; }}", "proto2").canonical

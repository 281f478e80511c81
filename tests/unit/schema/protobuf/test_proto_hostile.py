"""Protobuf definitions made to hurt: each is refused or read, and the process that reads it lives on."""

import base64
import multiprocessing
import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import EnvironmentProblem
from penstock.schema.cpu_budget import used
from penstock.schema.errors import InvalidSchema, NoColumns
from penstock.schema.format import ReferencedText
from penstock.schema.protobuf import compiler, worker
from penstock.schema.protobuf.compiler import CompilerGaveUp, CompilerPool, compile_files
from penstock.schema.protobuf.source import MAX_DEPTH
from penstock.schema.rules import GLUE_RULES
from tests.unit.schema.protobuf.protobuf_schemas import AS_WRITTEN, DEPENDENCY, PROTOBUF, proto

OPTION = (
    'import "google/protobuf/descriptor.proto"; message M { optional M m = 1; } '
    "extend google.protobuf.MessageOptions { optional M opt = 50000; } "
)


def read(text: str) -> Any:
    """The schema, or nothing where it is refused in few words."""
    try:
        return PROTOBUF.parse(text)
    except InvalidSchema as error:
        if not 0 < len(str(error)) < 2_000:
            raise AssertionError(f"an error of {len(str(error))} characters") from None
        return None


# Each of them ended the compiler's process, or took it 20 seconds and five gigabytes, before there were bounds.
ENDED_THE_COMPILER = [
    OPTION + "message X { option (opt) = {" + "m{" * 50_000 + "}" * 50_000 + "}; }",
    OPTION + "message X { option (opt) = {" + "m<" * 50_000 + ">" * 50_000 + "}; }",
    OPTION + "message X { option (opt)" + ".m" * 80_000 + " = {}; }",
    "message X {" + "optional group G = 1 {" * 7_000 + "}" * 7_000 + "}",
]


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


def test_many_threads() -> None:
    def one(number: int) -> str:
        text = f'syntax = "proto3"; message M{number} {{ int32 f{number} = {number + 1}; }}'
        wrong = f'syntax = "proto3"; message M{number} {{ B{number} b = 1; }}'
        with pytest.raises(InvalidSchema, match=f'"B{number}" is not defined'):
            PROTOBUF.parse(wrong)
        return PROTOBUF.parse(text).canonical

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(one, range(200)))
    assert [f"int32 f{number} = {number + 1};" in text for number, text in enumerate(found)] == [True] * 200


def test_a_compiler_that_dies_is_replaced() -> None:
    pool = CompilerPool(size=1)
    source = {"a.proto": 'syntax = "proto3"; message A {}'}
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    (child,) = pool._idle
    os.kill(child._process.pid, signal.SIGKILL)
    child._process.wait()
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    with pytest.raises(CompilerGaveUp, match="the compiler ended"):
        pool.compile({"a.proto": 'syntax = "proto2"; ' + ENDED_THE_COMPILER[0]}, "a.proto")
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    (child,) = pool._idle
    folder = child._folder
    pool.close()
    assert child._process.returncode is not None
    assert not os.path.exists(folder)  # noqa: PTH110


def test_a_compilers_work_is_bounded_for_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_CPU_SECONDS", 1e-3)
    monkeypatch.setattr(compiler, "_CPU_SECONDS_PER_CHAR", 0.0)
    pool = CompilerPool(size=1)
    large = 'syntax = "proto3"; ' + "".join(f"message M{number} {{}} " for number in range(8_000))
    with pytest.raises(CompilerGaveUp, match="more time of the processor than any definition of its size should"):
        pool.compile({"a.proto": large}, "a.proto")
    monkeypatch.setattr(compiler, "_CPU_SECONDS", 10.0)
    monkeypatch.setattr(compiler, "_MAX_CPU_SECONDS", 10.0)
    assert isinstance(pool.compile({"a.proto": large}, "a.proto"), bytes)
    pool.close()


def test_what_a_compiler_uses_of_the_processor_is_counted_for_the_thread_that_asked() -> None:
    pool = CompilerPool(size=1)
    large = 'syntax = "proto3"; ' + "".join(f"message M{number} {{}} " for number in range(8_000))
    pool.compile({"a.proto": large}, "a.proto")
    (child,) = pool._idle
    before = used() - time.thread_time()
    pool.compile({"a.proto": large}, "a.proto")
    of_child = sum(map(int, Path(f"/proc/{child._process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
    assert 0 < used() - time.thread_time() - before <= of_child / os.sysconf("SC_CLK_TCK") + 0.1
    pool.close()


def test_a_compiler_that_complains_without_end_is_stopped() -> None:
    pool = CompilerPool(size=1)
    overlapping = 'syntax = "proto3"; message A { reserved ' + ", ".join(["1 to max"] * 2_000) + "; }"
    pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto")
    (child,) = pool._idle
    errors: Any = pool.compile({"a.proto": overlapping}, "a.proto")
    assert len(errors) == worker.MAX_ERRORS
    assert (errors[0].file, errors[0].line) == ("a.proto", 1)
    assert "Reserved range 1 to 536870911 overlaps" in errors[0].message
    assert child._process.returncode == -signal.SIGKILL
    assert isinstance(pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto"), bytes)
    pool.close()


def test_a_flood_of_complaints_about_a_file_that_cannot_be_named_is_refused_too() -> None:
    pool = CompilerPool(size=1)
    overlapping = 'syntax = "proto3"; message A { reserved ' + ", ".join(["1 to max"] * 2_000) + "; }"
    with pytest.raises(CompilerGaveUp, match="more mistakes than it can list"):
        pool.compile({"a:b.proto": overlapping}, "a:b.proto")
    pool.close()


def test_complaints_of_one_definition_are_not_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "_MAX_COMPLAINTS", 1_000)
    pool = CompilerPool(size=1)
    for _ in range(20):
        assert len(pool.compile({"a.proto": 'syntax = "proto3"; message A { B b = 1; }'}, "a.proto")) == 1
    (child,) = pool._idle
    assert child._process.poll() is None
    pool.close()


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


def test_a_compiler_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = CompilerPool(size=1)
    assert isinstance(pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto"), bytes)
    (child,) = pool._idle
    os.kill(child._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(compiler, "MAX_SECONDS", 0.05)
    with pytest.raises(CompilerGaveUp, match=r"longer than 0\.05 s"):
        pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto")
    assert child._process.returncode == -signal.SIGKILL
    pool.close()


def test_a_compiler_whose_files_were_cleaned_away_is_replaced() -> None:
    pool = CompilerPool(size=1)
    source = {"a.proto": 'syntax = "proto3"; import "google/type/date.proto"; message A {}'}
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    (child,) = pool._idle
    shutil.rmtree(child._folder)
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    assert child._process.returncode is not None
    pool.close()


def test_a_machine_without_room_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pool = CompilerPool(size=1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(EnvironmentProblem, match="cannot be run"):
        pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert isinstance(pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto"), bytes)
    (child,) = pool._idle
    (Path(child._folder) / "out").unlink()
    (Path(child._folder) / "out").mkdir()  # in place of the file that the compiler writes
    with pytest.raises(EnvironmentProblem, match="directory"):
        pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto")
    pool.close()


def test_what_the_compiler_cannot_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(files: dict[str, str], main: str) -> None:
        raise CompilerGaveUp("the compiler ended")

    monkeypatch.setattr("penstock.schema.protobuf.parse.compile_files", gives_up)
    with pytest.raises(InvalidSchema, match="too complex for Google's protocol compiler: the compiler ended"):
        proto("message A {}")


def _in_child(answers: Any) -> None:
    answers.put(PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY]).fingerprint)


def test_a_forked_process_has_compilers_of_its_own() -> None:
    expected = PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY]).fingerprint
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    children = [context.Process(target=_in_child, args=(answers,)) for _ in range(2)]
    for child in children:
        child.start()
    assert [answers.get(timeout=60) for _ in children] == [expected] * 2
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert PROTOBUF.parse(AS_WRITTEN, [DEPENDENCY]).fingerprint == expected


def test_threads_wait_for_a_compiler() -> None:
    pool = CompilerPool(size=2)
    seen = set()

    def one(number: int) -> None:
        assert isinstance(pool.compile({"a.proto": f'syntax = "proto3"; message A{number} {{}}'}, "a.proto"), bytes)
        seen.add(threading.get_ident())

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(one, range(60)))
    assert len(pool._idle) <= 2
    pool.close()


def test_the_compiler_alone_names_what_is_wrong() -> None:
    errors: Any = compile_files({"a.proto": "x"}, "a.proto")
    assert errors[0].line == 1


def test_a_compiler_ends_and_cleans_up_with_its_parent() -> None:
    pool = CompilerPool(size=1)
    assert isinstance(pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto"), bytes)
    (child,) = pool._idle
    assert Path(child._folder).is_dir()
    # What a parent's death does, whatever killed it.
    assert child._process.stdin is not None
    child._process.stdin.close()
    assert child._process.wait(30) == 0
    assert not Path(child._folder).exists()
    pool.close()

"""The processes that compile Protobuf definitions: bounded, replaced, ended."""

import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penstock.children.process import Exit
from penstock.errors import EnvironmentProblem
from penstock.retries import wait_until
from penstock.schema.cpu_budget import used
from penstock.schema.errors import InvalidSchema
from penstock.schema.protobuf import compiler, worker
from penstock.schema.protobuf.compiler import CompilerGaveUp, CompilerPool, compile_files
from tests.unit.schema.protobuf.hostile_protobuf import ENDED_THE_COMPILER
from tests.unit.schema.protobuf.protobuf_schemas import AS_WRITTEN, DEPENDENCY, PROTOBUF, proto


def test_many_threads() -> None:
    def one(number: int) -> str:
        text = f'syntax = "proto3"; message M{number} {{ int32 f{number} = {number + 1}; }}'
        wrong = f'syntax = "proto3"; message M{number} {{ B{number} b = 1; }}'
        with pytest.raises(InvalidSchema, match=f'"B{number}" is not defined'):
            PROTOBUF.parse(wrong)
        return PROTOBUF.parse(text).canonical

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(one, range(200)))
    assert [f"int32 f{number} = {number + 1};" in text for number, text in enumerate(results)] == [True] * 200


def test_a_compiler_that_dies_is_replaced() -> None:
    pool = CompilerPool(size=1)
    source = {"a.proto": 'syntax = "proto3"; message A {}'}
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    (child,) = pool._idle
    if sys.platform == "linux":
        assert "Seccomp:\t2" in Path(f"/proc/{child._process.pid}/status").read_text()
    os.kill(child._process.pid, signal.SIGKILL)
    child._process.wait()
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    with pytest.raises(CompilerGaveUp, match="the compiler ended"):
        pool.compile({"a.proto": 'syntax = "proto2"; ' + ENDED_THE_COMPILER[0]}, "a.proto")
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    (child,) = pool._idle
    folder = child._folder
    pool.close()
    assert not child._process.running
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
    assert child._process.wait() == Exit(-signal.SIGKILL)
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
    assert child._process.running
    pool.close()


def test_a_compiler_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = CompilerPool(size=1)
    assert isinstance(pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto"), bytes)
    (child,) = pool._idle
    os.kill(child._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(compiler, "MAX_SECONDS", 0.05)
    with pytest.raises(CompilerGaveUp, match=r"longer than 0\.05 s"):
        pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto")
    assert child._process.wait() == Exit(-signal.SIGKILL)
    pool.close()


def test_a_compiler_whose_files_were_cleaned_away_is_replaced() -> None:
    pool = CompilerPool(size=1)
    source = {"a.proto": 'syntax = "proto3"; import "google/type/date.proto"; message A {}'}
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    (child,) = pool._idle
    shutil.rmtree(child._folder)
    assert isinstance(pool.compile(source, "a.proto"), bytes)
    assert not child._process.running
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
    child._process.channel.close()
    assert child._process.wait(30) == Exit(0)
    wait_until(lambda: not Path(child._folder).exists(), seconds=30, every=0.01)
    pool.close()


@pytest.mark.parametrize(
    "answer",
    [
        "pack(pickle.dumps(ValueError))",
        "struct.pack('>II', 2**32 - 1, 0)",
        """pack(b'{"$type":"Refused","seconds":0,"errors":' + b"[" * 200_000)""",
        """pack(b'{"$type":"Compiled","seconds":"long"}')""",
    ],
)
def test_a_compiler_that_was_taken_over_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str
) -> None:
    program = tmp_path / "worker.py"
    program.write_text(
        "import os, pickle, struct, sys, time\nsys.path.append(sys.argv[2])\n"
        f"from penstock.children.frames import pack\nos.write(int(sys.argv[1]), {answer})\ntime.sleep(600)\n"
    )
    monkeypatch.setattr(compiler, "_WORKER", program)
    pool = CompilerPool(size=1)
    with pytest.raises(CompilerGaveUp, match="answer cannot be read"):
        pool.compile({"a.proto": 'syntax = "proto3";'}, "a.proto")
    assert pool._idle == []

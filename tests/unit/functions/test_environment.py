"""Execution environments: real child processes that run small handlers, and what becomes of those that misbehave."""

import contextlib
import json
import os
import re
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.functions.environment import ExecutionEnvironment, Result
from penstock.functions.model import Function

CODE = """\
import logging, os, struct, sys, time
from decimal import Decimal
STARTED = os.getpid()
calls = 0

def handler(event, context):
    global calls
    calls += 1
    print("handling", event)
    return {"calls": calls, "pid": os.getpid(), **{name: getattr(context, name) for name in (
        "function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb", "aws_request_id",
        "log_group_name", "log_stream_name")}, "left": context.get_remaining_time_in_millis(),
        "greeting": os.environ["GREETING"], "root": os.environ["LAMBDA_TASK_ROOT"]}

def masks(event, context):
    return os.umask(0)

def fails(event, context):
    raise KeyError("deviceId")

def exits(event, context):
    raise SystemExit("no more")

def dies(event, context):
    os._exit(3)

def sleeps(event, context):
    time.sleep(60)

def grows(event, context):
    kept = []
    while True:
        kept.append(b"x" * 10_000_000)
        time.sleep(0.01)

def jumps(event, context):
    return len(bytearray(6_000_000_000))

def talks(event, context):
    return {1, 2}

def huge(event, context):
    return "x" * (6 * 1024 * 1024 + 1)

def writes_frames(event, context):
    answer = b"".join(struct.pack(">II", size, 2 ** 32 - 1 - size) + b"{}" for size in event)
    os.write(int(sys.orig_argv[-3]), answer)
    time.sleep(60)

def nests(event, context):
    sys.setrecursionlimit(200_000)
    nested = []
    for _ in range(20_000):
        nested = [nested]
    return nested

def shouts(event, context):
    raise ValueError("x" * 10_000_000)

class Mute(Exception):
    def __str__(self):
        raise OSError

def mutters(event, context):
    raise Mute

def counts(event, context):
    return [Decimal("21.5"), Decimal(22), Decimal("1E+400")]

def logs(event, context):
    logging.getLogger().setLevel(logging.INFO)
    logging.getLogger("mine").info("21 °C")
    print(sys.stdout.encoding)

def forks(event, context):
    import subprocess
    child = subprocess.Popen(["sleep", "60"])
    print("child", child.pid)
    time.sleep(60)
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., ExecutionEnvironment]]:
    """Makes environments for a handler of the code above."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "app.py").write_text(CODE)
    (tmp_path / "code" / "broken.py").write_text("def handler(:\n")
    (tmp_path / "code" / "needs.py").write_text("import nothing_of_this_name\n")
    environments = []
    log = (tmp_path / "log").open("ab")

    def make(handler: str, **limits: Any) -> ExecutionEnvironment:
        function = Function(
            name="app", handler=handler, code=tmp_path / "code", variables={"GREETING": "hello"}, **{"timeout": 5, **limits}
        )
        environments.append(ExecutionEnvironment(function, log))
        return environments[-1]

    yield make
    for environment in environments:
        environment.close()
    log.close()


def call(environment: ExecutionEnvironment, event: Any = None) -> Result:
    return environment.run(json.dumps(event or {}).encode())


def error_of(result: Result) -> tuple[str, str]:
    assert result.error is not None
    assert result.answer is None
    return result.error["errorType"], result.error["errorMessage"]


def test_a_handler_writes_for_the_owner_alone(made: Any) -> None:
    before = os.umask(0o022)
    try:
        assert call(made("app.masks")).answer == 0o077
    finally:
        os.umask(before)


def test_a_handler_has_lambdas_context_and_stays_warm(made: Any, tmp_path: Path) -> None:
    environment = made("app.handler", memory=256)
    first, second = call(environment, {"temperature": 30}), call(environment)
    assert first.error is None
    answer = first.answer
    assert (answer["calls"], second.answer["calls"]) == (1, 2)
    assert answer["pid"] == second.answer["pid"] != os.getpid()
    assert answer["function_name"] == "app"
    assert answer["function_version"] == "$LATEST"
    assert answer["invoked_function_arn"] == "arn:aws:lambda:us-east-1:000000000000:function:app"
    assert answer["memory_limit_in_mb"] == "256"
    assert answer["aws_request_id"] == first.request_id != second.answer["aws_request_id"]
    assert answer["log_group_name"] == "/aws/lambda/app"
    assert "[$LATEST]" in answer["log_stream_name"]
    assert 0 < answer["left"] <= 5000
    assert (answer["greeting"], answer["root"]) == ("hello", str(tmp_path / "code"))
    log = (tmp_path / "log").read_text()
    assert log.startswith(f"START RequestId: {first.request_id} Version: $LATEST\n")
    assert "handling {'temperature': 30}" in log
    assert f"END RequestId: {first.request_id}\nREPORT RequestId: {first.request_id}\tDuration: " in log
    assert log.count("Init Duration") == 1


@pytest.mark.parametrize(
    ("handler", "kind", "words"),
    [
        ("app.fails", "KeyError", "'deviceId'"),
        ("app.exits", "SystemExit", "no more"),
        ("app.dies", "Runtime.ExitError", "exited with error: exit status 3"),
        ("app.jumps", "MemoryError", ""),
        ("app.talks", "Runtime.MarshalError", "not JSON serializable"),
        ("app.huge", "Function.ResponseSizeTooLarge", "6291456 bytes"),
        ("app.nests", "Runtime.MarshalError", "Unable to unmarshal response"),
        ("app.mutters", "Mute", "its __str__ raised OSError"),
        ("app.nothing", "Runtime.HandlerNotFound", "'nothing' missing on module 'app'"),
        ("absent.handler", "Runtime.ImportModuleError", "Unable to import module 'absent'"),
        ("needs.handler", "Runtime.ImportModuleError", "nothing_of_this_name"),
        ("broken.handler", "Runtime.UserCodeSyntaxError", "Syntax error in module 'broken'"),
    ],
)
def test_failures_have_lambdas_names(made: Any, handler: str, kind: str, words: str) -> None:
    environment = made(handler, memory=512)
    for _ in range(2):  # the next invocation starts a new process if needed
        found, message = error_of(call(environment))
        assert found == kind
        assert words in message


def test_the_stack_shows_the_functions_own_lines(made: Any) -> None:
    error = call(made("app.fails")).error
    assert error is not None
    assert len(error["stackTrace"]) == 1
    assert "in fails" in error["stackTrace"][0]


@pytest.mark.parametrize("size", [2, 2**32 - 1])
def test_a_frame_is_not_read_beyond_what_an_answer_may_have(made: Any, size: int) -> None:
    kind, message = error_of(call(made("app.writes_frames"), [size]))
    assert kind == "Function.ResponseSizeTooLarge", "and not a time-out"
    assert "6291456 bytes" in message


@pytest.mark.parametrize("name", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_has_both_names(made: Any, tmp_path: Path, monkeypatch: Any, name: str) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv(name, "eu-west-1")
    (tmp_path / "code" / "where.py").write_text(
        "import boto3\ndef handler(event, context):\n    return boto3.session.Session().region_name\n"
    )
    assert call(made("where.handler", memory=512)).answer == "eu-west-1"


def test_an_answer_that_is_too_large_leaves_the_process_warm(made: Any) -> None:
    environment = made("app.huge", memory=512)
    call(environment)
    pid = environment.pid
    assert pid is not None
    call(environment)
    assert environment.pid == pid


def test_the_text_of_an_error_is_bounded(made: Any) -> None:
    _, message = error_of(call(made("app.shouts", memory=512)))
    assert message == "x" * 32_768


def test_decimals_are_numbers_to_lambda(made: Any) -> None:
    assert call(made("app.counts")).answer == [21.5, 22, float("inf")]


def test_logging_writes_lambdas_lines_in_utf8(made: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("LC_ALL", "POSIX")
    request = call(made("app.logs")).request_id
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert re.search(rf"^\[INFO\]\t20\d\d-\d\d-\d\dT[\d:]{{8}}\.\d{{3}}Z\t{request}\t21 °C$", log, re.MULTILINE)
    assert "\nutf-8\n" in log


def test_a_function_that_takes_too_long_is_killed_with_its_children(made: Any, tmp_path: Path) -> None:
    environment = made("app.forks", timeout=1)
    kind, message = error_of(call(environment))
    assert kind == "Sandbox.Timedout"
    assert "Task timed out after 1.00 seconds" in message
    child = int((tmp_path / "log").read_text().split("child ")[1].split()[0])
    deadline = time.monotonic() + 10
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert environment.pid is None


def test_a_function_that_takes_too_much_memory_is_killed(made: Any) -> None:
    environment = made("app.grows", timeout=30)
    kind, message = error_of(call(environment))
    assert kind == "Runtime.OutOfMemory"
    assert "signal: killed" in message


def test_an_invocation_is_begun_and_polled(made: Any) -> None:
    environment = made("app.sleeps")
    assert environment.poll() is None
    environment.begin(b"{}")
    assert environment.busy
    assert environment.poll(0.05) is None
    pid = environment.pid
    environment.close()
    assert not psutil.pid_exists(pid)
    assert not environment.busy


def test_an_event_of_six_megabytes_goes_both_ways(made: Any, tmp_path: Path) -> None:
    (tmp_path / "code" / "echo.py").write_text("def handler(event, context):\n    return event\n")
    event = {"data": "x" * (6 * 1024 * 1024 - 20)}
    assert call(made("echo.handler", memory=512), event).answer == event


def test_a_runner_with_more_than_a_thousand_open_files_is_answered(made: Any) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096 if hard == resource.RLIM_INFINITY else min(4096, hard), hard))
    try:
        with contextlib.ExitStack() as stack:
            while stack.enter_context(open(os.devnull)).fileno() < 1100:  # noqa: PTH123
                pass
            assert call(made("app.handler")).answer["calls"] == 1
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

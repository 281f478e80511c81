"""The statements of a session of Glue: what cancelling one ends, and what it leaves alone."""

import signal
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from penstock.glue.launch import interactive
from penstock.glue.launch.interactive import Namespace, SparkJobs, serve
from penstock.retries import wait_until


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    made = Namespace({"go": threading.Event(), "gone": threading.Event()})
    before = signal.signal(signal.SIGINT, made.interrupt)
    yield made
    signal.signal(signal.SIGINT, before)


def served(monkeypatch: pytest.MonkeyPatch, namespace: Namespace, code: str, cancel_jobs: Any) -> Mapping[str, Any]:
    """Return what the process tells of a statement that is cancelled while it runs."""
    answers: list[Mapping[str, Any]] = []
    given = iter([{"id": 1, "code": code}])
    stop = threading.Event()

    class Server:
        def __init__(self, _environment: Mapping[str, str]) -> None: ...

        def ask(self, method: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
            if method == "GET":
                return next(given, {"current": 1, "cancel": True})
            assert body is not None
            answers.append(body)
            stop.set()
            return {}

    class Jobs(SparkJobs):
        def __init__(self) -> None: ...

        def begin(self, statement: int) -> None: ...

        def cancel(self, statement: int) -> None:
            assert statement == 1
            cancel_jobs()

        def cancel_late(self) -> None: ...

    monkeypatch.setattr(interactive, "_Server", Server)
    monkeypatch.setattr(interactive, "stop_requested", stop)
    serve(namespace, {}, idle_seconds=60, jobs=Jobs())
    return answers[0]


def test_a_statement_whose_spark_job_fails_by_its_cancellation_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, namespace: Namespace
) -> None:
    def cancel_jobs() -> None:
        namespace.names["go"].set()
        # The signal comes when the job's error has ended the code already.
        assert wait_until(lambda: not namespace._executing, seconds=60)

    answer = served(monkeypatch, namespace, "go.wait(60)\nraise RuntimeError('Job 0 cancelled')", cancel_jobs)
    assert (answer["cancelled"], answer["output"]["ErrorValue"]) == (True, "Job 0 cancelled")


def test_a_statement_that_waits_for_no_spark_job_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, namespace: Namespace
) -> None:
    answer = served(monkeypatch, namespace, "print('begun')\ngo.wait(60)", lambda: None)
    assert (answer["cancelled"], answer["output"]["ErrorName"]) == (True, "KeyboardInterrupt")
    assert answer["output"]["Data"] == {"TextPlain": "begun\n"}


def test_a_signal_between_two_statements_ends_nothing(namespace: Namespace) -> None:
    signal.raise_signal(signal.SIGINT)
    assert namespace.run("1 + 1")["Data"] == {"TextPlain": "2\n"}

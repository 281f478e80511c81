"""The process of an interactive session: asks its server for statements, runs them, and reports their output.

``penstock glue session`` runs this file as its script. Statements share one namespace, which has ``spark``, ``sc`` and
``glueContext`` from the start. The command reads here that they use ``spark.sql``, and so gives Spark the data
catalog. As in Glue, a statement's output is what it printed, with the value of its last expression.
"""

import ast
import contextlib
import http.client
import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Any

from botocore.awsrequest import AWSRequest
from botocore.exceptions import HTTPClientError
from botocore.httpsession import URLLib3Session
from pyspark import SparkContext

from penstock.glue.context.glue_context import GlueContext
from penstock.glue.jobs.stopping import stop_requested

__all__ = ["Namespace", "SparkJobs", "serve"]

_PAUSE = 0.2
_MOST_TEXT = 1_000_000  # characters of one output
_PATIENCE = 300.0  # seconds without an answer of the server, which may be restarted


class Namespace:
    """Runs code as a notebook's cells are run."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__", **names}
        self.count = 0
        self._executing = False

    def interrupt(self, *_: object) -> None:
        """Raise KeyboardInterrupt in the code that runs; a handler of a signal. It is ignored between two statements."""
        if self._executing:
            raise KeyboardInterrupt

    def run(self, code: str) -> Mapping[str, Any]:
        """Return Glue's StatementOutput, with the error of code that failed or was interrupted."""
        self.count += 1
        printed = io.StringIO()
        error: BaseException | None = None
        with contextlib.redirect_stdout(printed):
            try:
                try:
                    self._executing = True
                    self._execute(code)
                finally:
                    self._executing = False
            except (Exception, SystemExit, KeyboardInterrupt) as problem:  # noqa: BLE001 - a session outlives its statements' errors
                self._executing = False  # also if the signal came in between
                error = problem
        output: dict[str, Any] = {"Data": {"TextPlain": printed.getvalue()[:_MOST_TEXT]}, "ExecutionCount": self.count}
        if error is None:
            return output
        frames = traceback.format_exception(type(error), error, _own_frames(error.__traceback__))
        failure = {"ErrorName": type(error).__name__, "ErrorValue": str(error)[:10_000], "Traceback": frames[-20:]}
        return {**output, **failure}

    def _execute(self, code: str) -> None:
        tree = ast.parse(code, "<statement>")
        last = tree.body[-1] if tree.body else None
        if isinstance(last, ast.Expr):
            tree.body.pop()
        exec(compile(tree, "<statement>", "exec"), self.names)  # noqa: S102 - this is what a session is for
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<statement>", "eval"), self.names)  # noqa: S307
            if value is not None:
                print(repr(value))


def _own_frames(trace: TracebackType | None) -> TracebackType | None:
    """Return the frames below this file's, which are the statement's."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


class _Server:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._url = f"{environment['PENSTOCK_RUN_URL']}/statement"
        self._token = environment["PENSTOCK_RUN_TOKEN"]
        verify: Any = environment.get("AWS_CA_BUNDLE") or True
        self._session = URLLib3Session(verify=verify)

    def ask(self, method: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the server's answer; wait for one while it may be restarted."""
        until = time.monotonic() + _PATIENCE
        while True:
            data = None if body is None else json.dumps(body)
            request = AWSRequest(method, self._url, {"Authorization": self._token}, data)
            try:
                answer = self._session.send(request.prepare())
                if answer.status_code == http.client.OK:
                    document: Mapping[str, Any] = json.loads(answer.content)
                    return document
                raise SystemExit(f"The server answered with status {answer.status_code}: {answer.text[:300]}")
            except HTTPClientError:
                if time.monotonic() > until:
                    raise
                time.sleep(1)


class SparkJobs:
    """The Spark jobs of a session's statements."""

    def __init__(self, context: SparkContext) -> None:
        self._context: Any = context
        self._cancelled: set[str] = set()

    def begin(self, statement: int) -> None:
        """Let the jobs that this thread starts be those of ``statement``."""
        self._context.setJobGroup(_group(statement), f"statement {statement}")

    def cancel(self, statement: int) -> None:
        """Cancel the jobs of ``statement``, and also one that the JVM was asked for and has not started yet."""
        self._cancelled.add(_group(statement))
        self._context._jsc.sc().cancelJobGroupAndFutureJobs(_group(statement))
        self._context.cancelAllJobs()  # also those of a group of the code's own

    def cancel_late(self) -> None:
        """Cancel the jobs of cancelled statements that started since; call this from time to time.

        The JVM goes on with a call whose caller was interrupted, and Spark refuses a cancelled group's later jobs except
        the shuffle stages that its adaptive planner submits (Spark's ``DAGScheduler.handleMapStageSubmitted``).
        """
        if not self._cancelled:
            return
        tracker = self._context.statusTracker()
        if active := set(tracker.getActiveJobsIds()):
            for group in self._cancelled:
                for job in active.intersection(tracker.getJobIdsForGroup(group)):
                    self._context._jsc.sc().cancelJob(job)


def _group(statement: int) -> str:
    return f"penstock-statement-{statement}"


def serve(namespace: Namespace, environment: Mapping[str, str], *, idle_seconds: float, jobs: SparkJobs) -> None:
    """Run statements until the session is stopped, or had none for ``idle_seconds``."""
    server = _Server(environment)
    used = time.monotonic()
    while time.monotonic() - used < idle_seconds and not stop_requested.is_set():
        statement = server.ask("GET")
        if "code" not in statement:
            jobs.cancel_late()
            time.sleep(_PAUSE)
            continue
        ended, cancel_requested = threading.Event(), threading.Event()
        number = int(statement["id"])
        watched = partial(_watch, _Server(environment), jobs, number, ended, cancel_requested)
        watch = threading.Thread(target=watched, daemon=True)
        jobs.begin(number)
        watch.start()
        output = namespace.run(statement["code"])
        ended.set()
        watch.join()
        # The error of a cancelled statement is that of its Spark job, or the interrupt, whichever came first.
        cancelled = cancel_requested.is_set() and "ErrorName" in output
        server.ask("PUT", {"id": number, "output": output, "cancelled": cancelled})
        used = time.monotonic()


def _watch(
    server: _Server, jobs: SparkJobs, statement: int, ended: threading.Event, cancel_requested: threading.Event
) -> None:
    """Interrupt ``statement``, which runs, if it is cancelled, and set ``cancel_requested`` before."""
    while not ended.wait(_PAUSE * 2):
        jobs.cancel_late()
        if server.ask("GET").get("cancel"):
            cancel_requested.set()
            jobs.cancel(statement)
            # Unlike _thread.interrupt_main, it also ends a wait for the kernel.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            ended.wait(_PAUSE * 10)


def _main() -> None:
    arguments = dict(pairwise(sys.argv[1:]))
    context = SparkContext()
    glue_context = GlueContext(context)
    spark = glue_context.spark_session
    # A script's streams end softly at the first signal; a statement is to end.
    namespace = Namespace({"sc": context, "spark": spark, "glueContext": glue_context})
    signal.signal(signal.SIGINT, namespace.interrupt)
    minutes = float(arguments.get("--penstock-idle-minutes", "2880"))
    serve(namespace, os.environ, idle_seconds=minutes * 60, jobs=SparkJobs(context))


if __name__ == "__main__":
    _main()

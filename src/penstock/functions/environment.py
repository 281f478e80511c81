"""An execution environment: one child process that runs a function's handler, one invocation at a time.

It stays warm between invocations. If an invocation exceeds its time or memory, the process group is killed, and a new
process starts for the next one. The parent never imports the function's code.
"""

import json
import os
import select
import signal
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import psutil

from penstock.children.frames import Bounds, FrameReader, FrameTooLarge, pack, wait_for
from penstock.children.messages import MalformedMessage, Message, MessageReader, encode
from penstock.children.process import ChildProcess
from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem
from penstock.functions import worker
from penstock.functions.model import Function

__all__ = ["ExecutionEnvironment", "Result"]

_OWN = str(Path(__file__).parents[2])
_ANSWERS = Bounds(head=worker.MAX_ANSWER, body=worker.MAX_ANSWER)
_INIT_SECONDS = 10.0  # Lambda's limit of the init phase; a longer timeout of the function applies to it too
_MEMORY_CHECK = 0.1  # seconds between two checks of the resident memory
_HEADROOM = 1 << 30  # bytes beyond the limit at which an allocation fails, even between two checks
_STOP_SECONDS = 5.0
_CHUNK = 1 << 20
_CLOSE_SECONDS = 0.2  # in which an idle process should end by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one invocation: ``answer`` is the handler's, ``error`` its exception as Lambda describes it."""

    request_id: str
    answer: Any = None
    error: Mapping[str, Any] | None = None
    seconds: float = 0.0


class Invoke(Message, frozen=True):
    """The head of an event: a request for the handler, which has so many ``seconds``."""

    request_id: str
    arn: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HandlerError:
    """An exception of the function, under Lambda's names."""

    errorMessage: str  # noqa: N815 - Lambda's
    errorType: str  # noqa: N815 - Lambda's
    requestId: str  # noqa: N815 - Lambda's
    stackTrace: list[str]  # noqa: N815 - Lambda's


class Initialised(Message, frozen=True):
    """The process's first message: the handler was loaded in ``seconds``, or could not be."""

    seconds: float
    error: HandlerError | None = None


class Finished(Message, frozen=True):
    """The head of a result."""

    error: HandlerError | None = None


@dataclass(slots=True)
class _Call:
    """The current invocation."""

    request_id: str
    began: float
    deadline: float
    outgoing: memoryview
    incoming: FrameReader = field(default_factory=lambda: FrameReader(_ANSWERS))
    memory_checked: float = 0.0
    peak: int = 0
    init_seconds: float | None = None


class _Unreadable(Exception):
    """Data from the process are not an answer; ``name`` is Lambda's of the error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class ExecutionEnvironment:
    """Runs ``function``; ``log`` gets its output, and Lambda's START, END and REPORT lines. For one thread.

    :meth:`begin` starts an invocation, :meth:`poll` returns its result; neither waits. The environment is ``variables``
    (None: the owner's) with the function's own.
    """

    def __init__(self, function: Function, log: IO[bytes], *, variables: Mapping[str, str] | None = None) -> None:
        self._function = function
        self._log = log
        self._variables = dict(os.environ if variables is None else variables)
        stamp = datetime.now(UTC).strftime("%Y/%m/%d")
        self._stream = f"{stamp}/[$LATEST]{uuid.uuid4().hex}"
        self._process: ChildProcess | None = None
        self._call: _Call | None = None

    @property
    def busy(self) -> bool:
        """Whether an invocation runs."""
        return self._call is not None

    @property
    def pid(self) -> int | None:
        """The child's process id, None without one."""
        return self._process.pid if self._process is not None and self._process.running else None

    def begin(self, event: bytes) -> str:
        """Start an invocation with ``event`` (JSON). Return its request id; :class:`EnvironmentProblem` on failure."""
        assert self._call is None
        initial = self.pid is None
        if initial:
            self._start()
        request_id = str(uuid.uuid4())
        function = self._function
        head = encode(Invoke(request_id=request_id, arn=function.arn, seconds=function.timeout))
        now = time.monotonic()
        self._call = _Call(
            request_id=request_id,
            began=now,
            deadline=now + (max(_INIT_SECONDS, function.timeout) if initial else function.timeout),
            outgoing=memoryview(pack(head, event)),
        )
        self._write_log(f"START RequestId: {request_id} Version: $LATEST")
        return request_id

    def poll(self, wait: float = 0.0) -> Result | None:
        """Return the result, after at most ``wait`` seconds; None while the invocation runs."""
        call, process = self._call, self._process
        if call is None or process is None:
            return None
        now = time.monotonic()
        wait = min(wait, _MEMORY_CHECK, max(0.0, call.deadline - now))
        ready = wait_for(process.connection, wait, write=bool(call.outgoing))
        try:
            if ready & select.POLLOUT:
                call.outgoing = call.outgoing[process.connection.send(call.outgoing[:_CHUNK]) :]
            if ready & ~select.POLLOUT:
                data = process.connection.recv(_CHUNK)
                if not data:
                    return self._ended(call, process)
                call.incoming.feed(data)
        except BlockingIOError:
            return None
        except OSError:
            return self._ended(call, process)
        try:
            finished = self._finished(call)
        except _Unreadable as error:
            self._stop_process()
            return self._failed(call, error.name, str(error))
        return finished or self._overdue(call, time.monotonic())

    def run(self, event: bytes) -> Result:
        """Invoke the function and wait for the result."""
        self.begin(event)
        while True:
            result = self.poll(1.0)
            if result is not None:
                return result

    def close(self) -> None:
        """End the process, and with it a current invocation."""
        self._call = None
        if self._process is not None:
            # It ends when its owner's end is closed, if it does not run the handler.
            self._process.channel.close()
            self._process.wait(_CLOSE_SECONDS)
        self._stop_process()

    def _start(self) -> None:
        self.close()
        function = self._function
        try:
            self._process = ChildProcess(
                # Lambda's locale is UTF-8, whatever the machine's.
                [sys.executable, "-I", "-u", "-X", "utf8", worker.__file__],
                str((function.memory << 20) + _HEADROOM),
                _OWN,
                environment=self._environment(),
                bounds=_ANSWERS,
                output=self._log,
                errors=self._log,
                folder=function.code,
                umask=PRIVATE_UMASK,
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"No process starts for function {function.name}: {error}.", remedy="Check memory, processes and its code."
            ) from None
        self._process.connection.setblocking(False)

    def _environment(self) -> dict[str, str]:
        """Return the variables of https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html (reserved)."""
        function = self._function
        # Both names, as in Lambda: boto3 reads the second, AWS's other SDKs the first.
        region = self._variables.get("AWS_REGION") or self._variables.get("AWS_DEFAULT_REGION")
        return {
            **self._variables,
            **({"AWS_REGION": region, "AWS_DEFAULT_REGION": region} if region else {}),
            "TZ": ":UTC",
            **function.variables,
            "_HANDLER": function.handler,
            "LAMBDA_TASK_ROOT": str(function.code),
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info[0]}.{sys.version_info[1]}",
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory),
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": self._stream,
        }

    def _finished(self, call: _Call) -> Result | None:
        """Return the result, if it is there. A function may write to the socket, too: nothing on it is believed."""
        try:
            frame = call.incoming.next()
            if frame is None:
                return None
            answer = _READER.read(frame[0])
        except FrameTooLarge:
            raise _Unreadable(
                "Function.ResponseSizeTooLarge",
                f"Response payload size exceeded maximum allowed payload size ({worker.MAX_ANSWER} bytes).",
            ) from None
        except MalformedMessage:
            raise _Unreadable(
                "Runtime.MarshalError", "The process answered with something else than the runtime's frames."
            ) from None
        error = None if answer.error is None else {**asdict(answer.error), "requestId": call.request_id}
        if isinstance(answer, Finished):
            return self._result(call, answer=_parsed(frame[1]), error=error)
        call.began = time.monotonic()
        call.deadline = call.began + self._function.timeout
        call.init_seconds = answer.seconds
        if error is not None:
            self._stop_process()
            return self._result(call, error=error)
        return self._finished(call)

    def _overdue(self, call: _Call, now: float) -> Result | None:
        function = self._function
        if now >= call.deadline:
            self._stop_process()
            stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
            text = f"{stamp} {call.request_id} Task timed out after {function.timeout:.2f} seconds"
            self._write_log(text)
            return self._failed(call, "Sandbox.Timedout", text)
        if now - call.memory_checked >= _MEMORY_CHECK:
            call.memory_checked = now
            used = self._memory()
            call.peak = max(call.peak, used)
            if used > function.memory << 20:
                self._stop_process()
                return self._failed(
                    call,
                    "Runtime.OutOfMemory",
                    f"RequestId: {call.request_id} Error: Runtime exited with error: signal: killed",
                )
        return None

    def _memory(self) -> int:
        try:
            return int(psutil.Process(self._process.pid).memory_info().rss) if self._process is not None else 0
        except psutil.Error:
            return 0

    def _ended(self, call: _Call, process: ChildProcess) -> Result:
        status = process.wait(_STOP_SECONDS).status
        status = -signal.SIGKILL if status is None else status
        self._stop_process()
        how = f"signal: {signal.strsignal(-status) or -status}".lower() if status < 0 else f"exit status {status}"
        return self._failed(
            call, "Runtime.ExitError", f"RequestId: {call.request_id} Error: Runtime exited with error: {how}"
        )

    def _stop_process(self) -> None:
        """Kill the rest of the process; the next invocation starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _failed(self, call: _Call, name: str, message: str) -> Result:
        return self._result(call, error={"errorType": name, "errorMessage": message, "requestId": call.request_id})

    def _result(self, call: _Call, *, answer: Any = None, error: Mapping[str, Any] | None = None) -> Result:
        self._call = None
        seconds = time.monotonic() - call.began
        used = max(call.peak, self._memory())
        self._write_log(f"END RequestId: {call.request_id}")
        report = (
            f"REPORT RequestId: {call.request_id}\tDuration: {seconds * 1000:.2f} ms\t"
            f"Billed Duration: {-(-int(seconds * 1_000_000) // 1000)} ms\tMemory Size: {self._function.memory} MB\t"
            f"Max Memory Used: {-(-used // (1 << 20))} MB"
        )
        if call.init_seconds is not None:
            report += f"\tInit Duration: {call.init_seconds * 1000:.2f} ms"
        self._write_log(report)
        return Result(
            request_id=call.request_id, answer=None if error else answer, error=error or None, seconds=round(seconds, 4)
        )

    def _write_log(self, line: str) -> None:
        self._log.write(line.encode() + b"\n")
        self._log.flush()


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable("Runtime.MarshalError", f"Unable to unmarshal response: {error}") from None


_READER: MessageReader[Initialised | Finished] = MessageReader(Initialised | Finished)

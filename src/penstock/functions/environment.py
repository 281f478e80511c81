"""An execution environment: one child process that runs a function's handler, one invocation at a time.

It stays warm between invocations. If an invocation exceeds its time or memory, the process group is killed, and a new
process starts for the next one. The parent never imports the function's code.
"""

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any

import psutil

from penstock.durable import PRIVATE_UMASK
from penstock.errors import EnvironmentProblem
from penstock.functions import worker
from penstock.functions.model import Function

__all__ = ["ExecutionEnvironment", "Result"]

_LENGTHS = struct.Struct(">II")
_INIT_SECONDS = 10.0  # Lambda's limit of the init phase; a longer timeout of the function applies to it too
_MEMORY_CHECK = 0.1  # seconds between two checks of the resident memory
_HEADROOM = 1 << 30  # bytes beyond the limit at which an allocation fails, even between two checks
_STOP_SECONDS = 5.0
_CLOSE_SECONDS = 0.2  # in which an idle process should end by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one invocation: ``answer`` is the handler's, ``error`` its exception as Lambda describes it."""

    request_id: str
    answer: Any = None
    error: Mapping[str, Any] | None = None
    seconds: float = 0.0


@dataclass(slots=True)
class _Call:
    """The current invocation."""

    request_id: str
    began: float
    deadline: float
    outgoing: memoryview
    incoming: bytearray = field(default_factory=bytearray)
    memory_checked: float = 0.0
    peak: int = 0
    init_seconds: float | None = None


class _Unreadable(Exception):
    """Data from the process are not an answer; ``kind`` is Lambda's name of the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


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
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._call: _Call | None = None

    @property
    def busy(self) -> bool:
        """Whether an invocation runs."""
        return self._call is not None

    @property
    def pid(self) -> int | None:
        """The child's process id, None without one."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def begin(self, event: bytes) -> str:
        """Start an invocation with ``event`` (JSON). Return its request id; :class:`EnvironmentProblem` on failure."""
        assert self._call is None
        initial = self.pid is None
        if initial:
            self._start()
        request_id = str(uuid.uuid4())
        function = self._function
        head = {"request_id": request_id, "arn": function.arn, "seconds": function.timeout}
        header = json.dumps(head).encode()
        now = time.monotonic()
        self._call = _Call(
            request_id=request_id,
            began=now,
            deadline=now + (max(_INIT_SECONDS, function.timeout) if initial else function.timeout),
            outgoing=memoryview(_LENGTHS.pack(len(header), len(event)) + header + event),
        )
        self._write_log(f"START RequestId: {request_id} Version: $LATEST")
        return request_id

    def poll(self, wait: float = 0.0) -> Result | None:
        """Return the result, after at most ``wait`` seconds; None while the invocation runs."""
        call, channel = self._call, self._channel
        if call is None or channel is None:
            return None
        now = time.monotonic()
        wait = min(wait, _MEMORY_CHECK, max(0.0, call.deadline - now))
        ready = _ready(channel, write=bool(call.outgoing), wait=wait)
        try:
            if ready & select.POLLOUT:
                call.outgoing = call.outgoing[channel.send(call.outgoing[: 1 << 20]) :]
            if ready & ~select.POLLOUT:
                data = channel.recv(1 << 20)
                if not data:
                    return self._ended(call)
                call.incoming += data
        except BlockingIOError:
            return None
        except OSError:
            return self._ended(call)
        try:
            finished = self._finished(call)
        except _Unreadable as error:
            self._stop_process()
            return self._failed(call, error.kind, str(error))
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
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        self._call = None
        if channel is not None:
            channel.close()
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_CLOSE_SECONDS)
            _kill(process)

    def _start(self) -> None:
        self.close()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        function = self._function
        limit = (function.memory << 20) + _HEADROOM
        try:
            self._process = subprocess.Popen(
                # Lambda's locale is UTF-8, whatever the machine's.
                [sys.executable, "-I", "-u", "-X", "utf8", worker.__file__, str(theirs.fileno()), str(limit)],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                cwd=function.code,
                env=self._environment(),
                pass_fds=[theirs.fileno()],
                umask=PRIVATE_UMASK,
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise EnvironmentProblem(
                f"No process starts for function {function.name}: {error}.", remedy="Check memory, processes and its code."
            ) from None
        finally:
            theirs.close()
        self._channel = ours

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
        frame = self._frame(call)
        if frame is not None and "init_seconds" in frame[0]:
            call.began = time.monotonic()
            call.deadline = call.began + self._function.timeout
            call.init_seconds = frame[0]["init_seconds"]
            if frame[0].get("error"):
                self._stop_process()
                return self._result(call, error={**frame[0]["error"], "requestId": call.request_id})
            frame = self._frame(call)
        if frame is None:
            return None
        header, body = frame
        return self._result(call, answer=_parsed(body), error=header.get("error"))

    def _frame(self, call: _Call) -> tuple[dict[str, Any], bytes] | None:
        """Return the next complete frame, header and body. A function may write there too: no size is trusted."""
        data = call.incoming
        if len(data) < _LENGTHS.size:
            return None
        header_size, body_size = _LENGTHS.unpack_from(data)
        if max(header_size, body_size) > worker.MAX_ANSWER:
            raise _Unreadable(
                "Function.ResponseSizeTooLarge",
                f"Response payload size exceeded maximum allowed payload size ({worker.MAX_ANSWER} bytes).",
            )
        middle, end = _LENGTHS.size + header_size, _LENGTHS.size + header_size + body_size
        if len(data) < end:
            return None
        header, body = _parsed(data[_LENGTHS.size : middle]), bytes(data[middle:end])
        if not isinstance(header, dict):
            raise _Unreadable("Runtime.MarshalError", "The process answered with something else than the runtime's frames.")
        del data[:end]
        return header, body

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

    def _ended(self, call: _Call) -> Result:
        process = self._process
        assert process is not None
        try:
            status = process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        self._stop_process()
        how = f"signal: {signal.strsignal(-status) or -status}".lower() if status < 0 else f"exit status {status}"
        return self._failed(
            call, "Runtime.ExitError", f"RequestId: {call.request_id} Error: Runtime exited with error: {how}"
        )

    def _stop_process(self) -> None:
        """Kill the rest of the process; the next invocation starts another."""
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        if channel is not None:
            channel.close()
        if process is not None:
            _kill(process)

    def _failed(self, call: _Call, kind: str, message: str) -> Result:
        return self._result(call, error={"errorType": kind, "errorMessage": message, "requestId": call.request_id})

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


def _parsed(text: bytes | bytearray) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable("Runtime.MarshalError", f"Unable to unmarshal response: {error}") from None


def _ready(channel: socket.socket, *, write: bool, wait: float) -> int:
    """Return for what ``channel`` is ready within ``wait`` seconds, in bits of poll(2): select(2) has 1,024 files."""
    poller = select.poll()
    poller.register(channel, select.POLLIN | (select.POLLOUT if write else 0))
    found = poller.poll(wait * 1000)
    return found[0][1] if found else 0


def _kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()

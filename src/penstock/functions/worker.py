"""Runs one handler in a process of its own, as Lambda's runtime does. This file uses only the standard library.

``python -I -u worker.py SOCKET BYTES``: frames go over the inherited socket in both directions. Each has the lengths in
bytes of header and body (two unsigned 32-bit numbers, big-endian), then header and body, both JSON. The handler's output
goes to the inherited streams. BYTES limits the memory of the process. The names of errors are those of AWS's runtime for
Python.
"""

import ctypes
import importlib
import json
import logging
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import Any

__all__ = ["MAX_ANSWER", "Context", "main"]

MAX_ANSWER = 6 * 1024 * 1024
"""Bytes of an answer, Lambda's quota for the response of a synchronous invocation; and of a frame's header."""

_LENGTHS = struct.Struct(">II")
_MAX_MESSAGE = 32 * 1024  # characters of an error's message
_MAX_DIGITS = 40  # of a decimal in an answer that becomes an integer; DynamoDB's have 38
_MAX_FRAMES = 64  # of an error's stack, the innermost ones
_OWNER_CHECK = 0.5  # seconds
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Identity:
    """The Amazon Cognito identity of a mobile application's call; events of streams have none."""

    cognito_identity_id = None
    cognito_identity_pool_id = None


class Context:
    """The context object, a handler's second argument.

    https://docs.aws.amazon.com/lambda/latest/dg/python-context.html. As in Lambda, the memory limit is a string.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.aws_request_id: str = request["request_id"]
        self.invoked_function_arn: str = request["arn"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = os.environ["AWS_LAMBDA_FUNCTION_VERSION"]
        self.memory_limit_in_mb = os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.identity = Identity()
        self.client_context = None
        self.tenant_id = None
        self._deadline = time.monotonic() + request["seconds"]

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the timeout."""
        return max(0, int((self._deadline - time.monotonic()) * 1000))

    def log(self, message: object) -> None:
        """Write to the function's log."""
        sys.stdout.write(str(message))

    def __repr__(self) -> str:
        return f"LambdaContext([aws_request_id={self.aws_request_id},function_name={self.function_name}])"


class _Log(logging.Handler):
    """Writes the records of ``logging`` as lines of Lambda's runtime for Python."""

    def __init__(self) -> None:
        super().__init__()
        self.request_id = ""
        lines = logging.Formatter(
            "[%(levelname)s]\t%(asctime)s.%(msecs)03dZ\t%(aws_request_id)s\t%(message)s\n", "%Y-%m-%dT%H:%M:%S"
        )
        lines.converter = time.gmtime
        self.setFormatter(lines)

    def emit(self, record: logging.LogRecord) -> None:
        record.aws_request_id = self.request_id
        try:
            sys.stdout.write(self.format(record))
        except Exception:  # noqa: BLE001 -- as the rules of logging handlers demand, an error here does not stop the function
            self.handleError(record)


class _Fault(Exception):
    """A handler that cannot be loaded; ``kind`` is Lambda's name of the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _load(name: str) -> Callable[[Any, Context], Any]:
    module_name, dot, function_name = name.rpartition(".")
    if not dot:
        raise _Fault(
            "Runtime.MalformedHandlerName", f"Bad handler '{name}': not enough values to unpack (expected 2, got 1)"
        )
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        raise _Fault("Runtime.ImportModuleError", f"Unable to import module '{module_name}': {error}") from error
    except SyntaxError as error:
        raise _Fault("Runtime.UserCodeSyntaxError", f"Syntax error in module '{module_name}': {error}") from error
    handler = getattr(module, function_name, None)
    if not callable(handler):
        raise _Fault("Runtime.HandlerNotFound", f"Handler '{function_name}' missing on module '{module_name}'")
    found: Callable[[Any, Context], Any] = handler
    return found


def _described(error: BaseException, request_id: str) -> dict[str, Any]:
    kind = error.kind if isinstance(error, _Fault) else type(error).__name__
    frames = [line for line in traceback.format_tb(error.__traceback__) if __file__ not in line][-_MAX_FRAMES:]
    try:
        message = str(error)[:_MAX_MESSAGE]
    except Exception as failure:  # noqa: BLE001 -- the function's own class may raise anything
        message = f"<its __str__ raised {type(failure).__name__}>"
    return {"errorMessage": message, "errorType": kind[:256], "requestId": request_id, "stackTrace": frames}


def _receive(channel: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = channel.recv(min(size - len(parts), 1 << 20))
        if not part:
            # The owner has ended or closed the socket: there is nothing to finish.
            os._exit(0)
        parts += part
    return bytes(parts)


def _send(channel: socket.socket, header: dict[str, Any], body: bytes = b"null") -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    head = json.dumps(header).encode()
    channel.sendall(_LENGTHS.pack(len(head), len(body)) + head + body)


def _shown(error: BaseException, request_id: str) -> dict[str, Any]:
    """Write the error to the log, and return it as Lambda describes it."""
    described = _described(error, request_id)
    lines = "".join(described["stackTrace"])
    print(f"[ERROR] {described['errorType']}: {described['errorMessage']}\n{lines}", end="", file=sys.stderr)
    return described


def _initialised(channel: socket.socket, name: str) -> Callable[[Any, Context], Any]:
    """Load the handler and report it: that is the first frame of a process."""
    began = time.monotonic()
    try:
        handler = _load(name)
    except BaseException as error:  # noqa: BLE001 -- the module may raise anything at import, sys.exit included
        _send(channel, {"init_seconds": time.monotonic() - began, "error": _shown(error, "")})
        os._exit(1)
    _send(channel, {"init_seconds": time.monotonic() - began})
    return handler


def _serve(channel: socket.socket, handler: Callable[[Any, Context], Any], log: _Log) -> None:
    while True:
        header_size, body_size = _LENGTHS.unpack(_receive(channel, _LENGTHS.size))
        request = json.loads(_receive(channel, header_size))
        body = _receive(channel, body_size)
        answer: dict[str, Any] = {"request_id": request["request_id"]}
        log.request_id = request["request_id"]
        result = b"null"
        try:
            result = _marshalled(handler(json.loads(body), Context(request)))
        except BaseException as error:  # noqa: BLE001 -- sys.exit in a handler is an error too
            answer["error"] = _shown(error, request["request_id"])
        _send(channel, answer, result)


def _marshalled(value: Any) -> bytes:
    try:
        text = json.dumps(value, default=_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise _Fault("Runtime.MarshalError", f"Unable to marshal response: {error}") from error
    if len(text) > MAX_ANSWER:
        raise _Fault(
            "Function.ResponseSizeTooLarge",
            f"Response payload size exceeded maximum allowed payload size ({MAX_ANSWER} bytes).",
        )
    return text.encode()


def _number(value: object) -> float:
    """Return a decimal as a number, as Lambda's runtime does; DynamoDB's items have decimals."""
    if isinstance(value, Decimal):
        whole = value.is_finite() and value.adjusted() < _MAX_DIGITS and value == value.to_integral_value()
        return int(value) if whole else float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _stay_with_owner() -> None:
    """End this process when its parent ends, whatever the handler does."""
    owner = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_OWNER_CHECK)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: list[str]) -> None:
    """Serve invocations until the socket closes."""
    _stay_with_owner()
    # The owner decides when a call ends; after Ctrl-C at its terminal the current batch finishes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(arguments[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    channel = socket.socket(fileno=int(arguments[0]))
    os.set_inheritable(channel.fileno(), False)
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    sys.argv = [os.environ["_HANDLER"]]
    log = _Log()
    logging.getLogger().addHandler(log)
    _serve(channel, _initialised(channel, os.environ["_HANDLER"]), log)


if __name__ == "__main__":
    main(sys.argv[1:])

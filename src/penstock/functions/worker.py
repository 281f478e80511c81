"""Runs one handler in a process of its own, as Lambda's runtime does. Of Penstock it uses what speaks with its owner.

``python -I -u worker.py SOCKET BYTES FOLDER``: frames (:mod:`penstock.children.frames`) go over the inherited socket in both
directions; the heads are the messages of :mod:`penstock.functions.environment`, the bodies events and results in JSON. The
handler's output goes to the inherited streams. BYTES limits the memory of the process, FOLDER has ``penstock``. The names of
errors are those of AWS's runtime for Python.
"""

import importlib
import json
import logging
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.children.frames import Channel

__all__ = ["MAX_ANSWER", "Context", "main"]

MAX_ANSWER = 6 * 1024 * 1024
"""Bytes of an answer, Lambda's quota for the response of a synchronous invocation; and of a frame's header."""

_MAX_EVENT = (1 << 32) - 1  # bytes; the owner is trusted, and bounds what it sends
_MAX_MESSAGE = 32 * 1024  # characters of an error's message
_MAX_DIGITS = 40  # of a decimal in an answer that becomes an integer; DynamoDB's have 38
_MAX_FRAMES = 64  # of an error's stack, the innermost ones


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
    """A handler that cannot be loaded; ``name`` is Lambda's of the error."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


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
    target: Callable[[Any, Context], Any] = handler
    return target


def _described(error: BaseException, request_id: str) -> dict[str, Any]:
    name = error.name if isinstance(error, _Fault) else type(error).__name__
    frames = [line for line in traceback.format_tb(error.__traceback__) if __file__ not in line][-_MAX_FRAMES:]
    try:
        message = str(error)[:_MAX_MESSAGE]
    except Exception as failure:  # noqa: BLE001 -- the function's own class may raise anything
        message = f"<its __str__ raised {type(failure).__name__}>"
    return {"errorMessage": message, "errorType": name[:256], "requestId": request_id, "stackTrace": frames}


def _send(channel: "Channel", answer: str, members: dict[str, Any], body: bytes = b"null") -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    channel.send(json.dumps({"$type": answer, **members}).encode(), body)


def _shown(error: BaseException, request_id: str) -> dict[str, Any]:
    """Write the error to the log, and return it as Lambda describes it."""
    described = _described(error, request_id)
    lines = "".join(described["stackTrace"])
    print(f"[ERROR] {described['errorType']}: {described['errorMessage']}\n{lines}", end="", file=sys.stderr)
    return described


def _initialised(channel: "Channel", name: str) -> Callable[[Any, Context], Any]:
    """Load the handler and report it: that is the first frame of a process."""
    began = time.monotonic()
    try:
        handler = _load(name)
    except BaseException as error:  # noqa: BLE001 -- the module may raise anything at import, sys.exit included
        _send(channel, "Initialised", {"seconds": time.monotonic() - began, "error": _shown(error, "")})
        os._exit(1)
    _send(channel, "Initialised", {"seconds": time.monotonic() - began})
    return handler


def _serve(channel: "Channel", handler: Callable[[Any, Context], Any], log: _Log) -> None:
    while True:
        try:
            head, body = channel.receive()
        except (EOFError, ConnectionError):
            # The owner has ended or closed the socket: there is nothing to finish.
            os._exit(0)
        request = json.loads(head)
        answer: dict[str, Any] = {}
        log.request_id = request["request_id"]
        result = b"null"
        try:
            result = _marshalled(handler(json.loads(body), Context(request)))
        except BaseException as error:  # noqa: BLE001 -- sys.exit in a handler is an error too
            answer["error"] = _shown(error, request["request_id"])
        _send(channel, "Finished", answer, result)


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


def main(arguments: list[str]) -> None:
    """Serve invocations until the socket closes."""
    descriptor, limit, own = int(arguments[0]), int(arguments[1]), arguments[2]
    sys.path.append(own)
    from penstock.children.frames import Bounds, Channel  # noqa: PLC0415 - its folder is known only now
    from penstock.children.serving import end_with_owner, ignore_interrupts  # noqa: PLC0415 - as above

    sys.path.remove(own)
    end_with_owner()
    # After Ctrl-C at the owner's terminal the current batch finishes.
    ignore_interrupts()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    channel = Channel.inherited(descriptor, Bounds(head=_MAX_EVENT, body=_MAX_EVENT))
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    sys.argv = [os.environ["_HANDLER"]]
    log = _Log()
    logging.getLogger().addHandler(log)
    _serve(channel, _initialised(channel, os.environ["_HANDLER"]), log)


if __name__ == "__main__":
    main(sys.argv[1:])

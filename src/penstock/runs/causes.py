"""Why a run failed, as its ``ErrorMessage`` says it: a category, the script's line, and the error.

The categories and the form are those of AWS Glue's job runs (``Error Category: QUERY_ERROR; Failed Line Number: 12; ...``).
The text is that of standard error, because a run may write nowhere else: tracebacks as Python prints them, with what Spark's
and the JVM's errors say of themselves.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

__all__ = ["failure_cause", "signal_cause"]

_MAX_MESSAGE = 1_000  # characters
_BEGIN = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s+File "([^"]+)", line (\d+)')
_HEAD = re.compile(r"([A-Za-z_][\w.]*(?:\.[A-Za-z_]\w*)*)(?:: ?(.*))?$")
_JAVA = re.compile(r"(?:: |Caused by: )([a-z][\w$]*(?:\.[\w$]+)+(?:Exception|Error|Failure|Refused)\w*)(?:: (.*))?$")
_STATE = re.compile(r"\s*SQLSTATE: \w{5}")
_PLAN = re.compile(r"^(?:['!]?[A-Z]\w*(?: \[|\(| )|[+:]- |== SQL |== SQL$|== SQL\(|JVM stacktrace)")
_NOISE = re.compile(
    r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d |\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|sys:1: |note: |"
    r".*is refused when it is reached|.*Warning: "
)
_CUT_OFF = {"Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError"}
_NO_MEMORY = re.compile(r"OutOfMemoryError: [A-Z].{0,100}")
_LAUNCH = "LAUNCH ERROR | "
_OURS = "penstock: "
_PLACE = re.compile(r" \(([^()\s]+\.py), line (\d+)\)$")
_FINDING = re.compile(r"\s+line (\d+): (.*)")  # of the check before a script's start
_KILLED, _TERMINATED = 128 + 9, 128 + 15
_WRAPPERS = ("SparkException", "StreamingQueryException", "ExecutionException", "InvocationTargetException", "Py4JJavaError")
_CATEGORIES = (
    ("OUT_OF_MEMORY_ERROR", re.compile(r"MemoryError|OutOfMemoryError|exit code 137|ExecutorLostFailure")),
    ("IMPORT_ERROR", re.compile(r"^(?:ModuleNotFoundError|ImportError)\b")),
    ("SYNTAX_ERROR", re.compile(r"^(?:SyntaxError|IndentationError|TabError|a syntax error)\b")),
    (
        "PERMISSION_ERROR",
        re.compile(
            r"AccessDenied|Access Denied|PermissionError|Forbidden|Status Code: 403|not authorized|may not (?:read|write)"
        ),
    ),
    (
        "RESOURCE_NOT_FOUND_ERROR",
        re.compile(
            r"PATH_NOT_FOUND|NoSuchKey|NoSuchBucket|EntityNotFound|ResourceNotFound|FileNotFound|ClassNotFound|"
            r"ERROR_NO_SUCH|does not exist|not found"
        ),
    ),
    ("QUERY_ERROR", re.compile(r"^(?:AnalysisException|ParseException|NumberFormatException|ArithmeticException)\b")),
    ("CONNECTION_ERROR", re.compile(r"ConnectionError|ConnectException|ConnectTimeout|UnknownHost|Connection refused")),
    ("INVALID_ARGUMENT_ERROR", re.compile(r"^(?:GlueArgumentError|IllegalArgumentException|InvalidInput)\b")),
)


@dataclass(frozen=True, slots=True)
class _Cause:
    """The error's name and message, the line of the script, and the place in a module of the script's own."""

    message: str
    line: int | None = None
    place: str | None = None


def failure_cause(error_lines: Sequence[str], status: int, script: str | None) -> str:
    """Return the ``ErrorMessage`` of a run that ended with ``status`` (128 and more is a signal) after ``error_lines``.

    ``script`` is the path or the name of the run's script.
    """
    lines = [error_line.rstrip() for error_line in error_lines]
    name = PurePath(script).name if script else None
    if status >= 128:
        return signal_cause(status - 128)
    cause = _of_traceback(lines, name) or _of_last_line(lines, status)
    category = next(
        (category_name for category_name, pattern in _CATEGORIES if pattern.search(cause.message)), "UNCLASSIFIED_ERROR"
    )
    message = cause.message
    if message.startswith(_LAUNCH):
        category, message = "LAUNCH_ERROR", message.removeprefix(_LAUNCH)
    parts = [f"Error Category: {category}"]
    if cause.line is not None:
        parts.append(f"Failed Line Number: {cause.line}")
    where = cause.place or (name if cause.line is not None else None)
    text = message if len(message) <= _MAX_MESSAGE else f"{message[: _MAX_MESSAGE - 1]}…"
    return "; ".join([*parts, f"{text} ({where})" if where else text])


def signal_cause(number: int) -> str:
    """Return the ``ErrorMessage`` of a run that signal ``number`` has ended."""
    if number + 128 == _KILLED:
        return (
            "Error Category: OUT_OF_MEMORY_ERROR; Command failed with exit code 137: the run's process was killed by "
            "SIGKILL, mostly by the kernel because memory ran out. Give the job a larger WorkerType, or let it hold less."
        )
    signal_name = "SIGTERM, from outside" if number + 128 == _TERMINATED else f"signal {number}"
    text = f"Command failed with exit code {128 + number}: the run's process was ended by {signal_name}."
    return f"Error Category: UNCLASSIFIED_ERROR; {text}"


def _of_traceback(lines: Sequence[str], script: str | None) -> _Cause | None:
    """Return the cause in the last traceback; None without one, or if other messages follow it."""
    try:
        begin = len(lines) - 1 - [*reversed(lines)].index(_BEGIN)
    except ValueError:
        return None
    frames = [(PurePath(match[1]), int(match[2])) for match in map(_FRAME.match, lines[begin + 1 :]) if match]
    at = next((at for at in range(begin + 1, len(lines)) if lines[at] and not lines[at][0].isspace()), None)
    head = _HEAD.match(lines[at]) if at is not None else None
    if at is None or head is None:
        return None
    rest = lines[at + 1 :]
    error_class, message = head[1].rpartition(".")[2], _first_sentence(head[2] or "", rest)
    if error_class in {"Py4JJavaError", "StreamingQueryException"}:
        error_class, message = _of_java(rest) or (error_class, message)
    own = [line for path, line in frames if path.name == script]
    if error_class in _CUT_OFF and any("py4j" in path.parts for path, _ in frames):
        return _Cause(_lost_jvm(lines), own[-1] if own else None)
    deepest = _deepest(frames, script)
    return _Cause(f"{error_class}: {message}" if message else error_class, own[-1] if own else None, deepest)


def _lost_jvm(lines: Sequence[str]) -> str:
    """Return what is known of the end of Spark's JVM, which prints nothing but that it had no memory."""
    memory = next((match[0] for match in map(_NO_MEMORY.search, lines) if match), None)
    why = f"java.lang.{memory}" if memory else "mostly because memory ran out, or because the machine killed it"
    return f"Spark's JVM has ended: {why}. Give the job a larger WorkerType, or collect less."


def _deepest(frames: Sequence[tuple[PurePath, int]], script: str | None) -> str | None:
    """Return the last place in a module that lies beside the script, if that is not the script itself."""
    folders = {path.parent for path, _ in frames if path.name == script}
    beside = [(path.name, line) for path, line in frames if path.parent in folders]
    if not beside or beside[-1][0] == script:
        return None
    return f"{beside[-1][0]}, line {beside[-1][1]}, called by {script}"


def _first_sentence(first: str, rest: Sequence[str]) -> str:
    """Return a message without the plan, the SQL's text and the stack that Spark writes below it."""
    parts = [first]
    for line in rest:
        if not line or line[0].isspace() or _PLAN.match(line) or _NOISE.match(line) or line.startswith(_BEGIN):
            break
        parts.append(line)
    text = " ".join(part.strip() for part in parts if part.strip())
    return _STATE.sub("", text).rstrip(" ;")


def _of_java(lines: Sequence[str]) -> tuple[str, str] | None:
    """Return the name and the message of the cause of a Java exception that says most: the last that wraps no other one.

    The traceback of a Python function in a task is inside that of a Java exception.
    """
    cause: tuple[str, str] | None = None
    for at, line in enumerate(lines):
        match = _JAVA.match(line)
        if match is None:
            continue
        error_class = match[1].rpartition(".")[2].rpartition("$")[2]
        if error_class == "PythonException":
            return _of_python_inside(lines[at:]) or (error_class, _first_sentence(match[2] or "", lines[at + 1 :]))
        if cause is None or error_class not in _WRAPPERS:
            cause = (error_class, _first_sentence(match[2] or "", lines[at + 1 :]))
    return cause


def _of_python_inside(lines: Sequence[str]) -> tuple[str, str] | None:
    inside = False
    for line in lines:
        text = line.strip()
        if text == _BEGIN or text.endswith(_BEGIN):
            inside = True
        elif inside and text and not line[0].isspace() and (head := _HEAD.match(text)):
            return head[1].rpartition(".")[2], (head[2] or "").strip()
    return None


def _of_last_line(lines: Sequence[str], status: int) -> _Cause:
    """Return what the last message says: one of Penstock's, or the text that the script gave to ``sys.exit``."""
    printed = [line for line in lines if line and not line[0].isspace() and not _NOISE.match(line)]
    if not printed:
        return _Cause(f"SystemExit: the script ended with exit code {status}")
    at = next(
        (at for at in range(len(lines) - 1, -1, -1) if lines[at].startswith(_OURS) and not _NOISE.match(lines[at])), None
    )
    if at is not None:
        below = next(iter(lines[at + 1 :]), "")
        if lines[at].endswith(":") and (finding := _FINDING.match(below)):
            return _Cause(finding[2], int(finding[1]))
        ours = lines[at]
        position = _PLACE.search(ours)
        text = (ours[: position.start()] if position else ours).removeprefix(_OURS)
        return _Cause(text, int(position[2]) if position else None)
    text = printed[-1]
    return _Cause(f"SystemExit: {text}" if status == 1 else f"SystemExit: {status} ({text})")

"""What a failed run's ErrorMessage says, from real processes' errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.runs.causes import failure_cause, signal_cause

PREFIX = "Error Category: "
SCRIPTS = {
    "an exception": (
        "x = 1\nraise ValueError('no such day')\n",
        "UNCLASSIFIED_ERROR; Failed Line Number: 2; ValueError: no such day (job.py)",
    ),
    "a message of two lines": (
        "raise RuntimeError('one\\ntwo')\n", "UNCLASSIFIED_ERROR; Failed Line Number: 1; RuntimeError: one two (job.py)",
    ),
    "no message": ("raise RuntimeError\n", "UNCLASSIFIED_ERROR; Failed Line Number: 1; RuntimeError (job.py)"),
    "a module that is missing": (
        "\nimport nothing_here\n",
        "IMPORT_ERROR; Failed Line Number: 2; ModuleNotFoundError: No module named 'nothing_here' (job.py)",
    ),
    "a script that is not Python": (
        "x = 1\ny = (\n", "SYNTAX_ERROR; Failed Line Number: 2; SyntaxError: '(' was never closed (job.py)",
    ),
    "a module beside it": (
        "import helper\n\nhelper.work()\n",
        "UNCLASSIFIED_ERROR; Failed Line Number: 3; KeyError: 'b' (helper.py, line 2, called by job.py)",
    ),
    "a library": (
        "import json\njson.loads('{')\n",
        "UNCLASSIFIED_ERROR; Failed Line Number: 2; JSONDecodeError: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1) (job.py)",
    ),
    "an error in a handler": (
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    open('/nothing/here')\n",
        "RESOURCE_NOT_FOUND_ERROR; Failed Line Number: 4; FileNotFoundError: [Errno 2] No such file or directory: "
        "'/nothing/here' (job.py)",
    ),
    "an exit with a text": ("import sys\nsys.exit('no rows today')\n", "UNCLASSIFIED_ERROR; SystemExit: no rows today"),
    "an exit with a number": (
        "import sys\nsys.exit(3)\n", "UNCLASSIFIED_ERROR; SystemExit: the script ended with exit code 3",
    ),
    "warnings behind the error": (
        "import sys, atexit\natexit.register(lambda: print('26/11/23 19:00:01 WARN X: y', file=sys.stderr))\nx = {}['k']\n",
        "UNCLASSIFIED_ERROR; Failed Line Number: 3; KeyError: 'k' (job.py)",
    ),
    "memory that Python asked for": (
        "x = bytearray(1 << 62)\n", "OUT_OF_MEMORY_ERROR; Failed Line Number: 1; MemoryError (job.py)",
    ),
    "a process that was killed": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
        "OUT_OF_MEMORY_ERROR; Command failed with exit code 137",
    ),
    "a process that was ended": (
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
        "UNCLASSIFIED_ERROR; Command failed with exit code 143: the run's process was ended by SIGTERM, from outside.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SCRIPTS)
def test_the_message_has_category_line_and_error(case: str, tmp_path: Path) -> None:
    text, expected = SCRIPTS[case]
    (tmp_path / "job.py").write_text(text)
    (tmp_path / "helper.py").write_text("def work():\n    return {}['b']\n")
    script = str(tmp_path / "job.py")
    program = f"import runpy, sys; sys.path.insert(0, {str(tmp_path)!r}); runpy.run_path({script!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    assert failure_cause(done.stderr.splitlines(), status, script).startswith(PREFIX + expected)


def test_errors_of_ours_have_their_place_and_category() -> None:
    lines = ["26/11/23 19:00:01 WARN Utils: x", "penstock: Table a.b was not found. Create it. (job.py, line 7)"]
    assert failure_cause(lines, 2, "job.py") == (
        "Error Category: RESOURCE_NOT_FOUND_ERROR; Failed Line Number: 7; Table a.b was not found. Create it. (job.py)"
    )
    checked = [
        "penstock: /x/job.py was not started, because it cannot succeed:",
        "  line 1: a syntax error: '(' was never closed.",
    ]
    assert failure_cause(checked, 2, "/x/job.py") == (
        "Error Category: SYNTAX_ERROR; Failed Line Number: 1; a syntax error: '(' was never closed. (job.py)"
    )
    launched = failure_cause(["penstock: LAUNCH ERROR | s3://lake/a.py does not exist."], 2, "a.py")
    assert launched == "Error Category: LAUNCH_ERROR; s3://lake/a.py does not exist."


def test_the_end_of_sparks_jvm_is_the_cause() -> None:
    lines = [
        "Terminating due to java.lang.OutOfMemoryError: Java heap space",
        "Traceback (most recent call last):", '  File "/work/job.py", line 9, in <module>', "    df.collect()",
        '  File "/x/site-packages/py4j/clientserver.py", line 540, in send_command', "    raise Py4JNetworkError(",
        "py4j.protocol.Py4JNetworkError: Answer from Java side is empty",
    ]  # fmt: skip
    assert failure_cause(lines, 1, "job.py") == (
        "Error Category: OUT_OF_MEMORY_ERROR; Failed Line Number: 9; Spark's JVM has ended: java.lang.OutOfMemoryError: "
        "Java heap space. Give the job a larger WorkerType, or collect less. (job.py)"
    )
    assert "mostly because memory ran out" in failure_cause(lines[1:], 1, "job.py")


def test_messages_are_bounded_and_signals_are_named() -> None:
    lines = ["Traceback (most recent call last):", '  File "job.py", line 1, in <module>', "ValueError: " + "x" * 5_000]
    assert len(failure_cause(lines, 1, "job.py")) < 1_200
    assert "signal 6" in signal_cause(6)

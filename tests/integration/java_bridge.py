"""A Java program of tests/java in a child process; see Bridge.java there for the lines spoken with it."""

import base64
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.testing.server import RunningServer
from tests.integration.java_source import java_program

__all__ = ["JavaBridge", "JavaSerdeError", "base64_text"]

_SOURCES = Path(__file__).parents[1] / "java"


class JavaSerdeError(Exception):
    """What the Java side threw, causes included."""


class JavaBridge:
    """Runs the class ``program`` with AWS's serde and the access key of ``server`` until it is closed."""

    def __init__(self, program: str, server: RunningServer, properties: Mapping[str, str], log: Path) -> None:
        self._properties = {"region": server.region, "endpoint": server.endpoint_url, **properties}
        self._log = log
        # Without AWS_ENDPOINT_URL: the property has to do.
        keys = {name: value for name, value in server.environment().items() if name.startswith(("AWS_ACCESS", "AWS_SECRET"))}
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [*java_program(_SOURCES / f"{program}.java", log.parent / "classes"), program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **keys},
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def ask(self, command: str, properties: Mapping[str, str], *parts: str) -> list[str]:
        """The parts of the answer; :class:`JavaSerdeError` if it is an error."""
        lines = "\n".join(f"{name}={value}" for name, value in {**self._properties, **properties}.items())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join((command, base64_text(lines), *parts)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline().rstrip("\n")
        if not line:
            raise JavaSerdeError(f"the Java process ended: {self._log.read_text()[-2000:]}")
        status, *answer = line.split("\t")
        if status == "error":
            raise JavaSerdeError(base64.b64decode(answer[0]).decode())
        return answer


def base64_text(text: str) -> str:
    """``text`` as the Java side reads it."""
    return base64.b64encode(text.encode()).decode()

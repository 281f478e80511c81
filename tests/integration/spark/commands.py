"""``penstock run`` as a process of its own whose output a test follows, with a registry of a real server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import psutil

from penstock.retries import wait_until
from penstock.testing.server import RunningServer
from tests.integration.spark.stream import DEFINITIONS

__all__ = ["Command", "frame_of", "register_flights", "started"]

_SECONDS = 240.0


def register_flights(server: RunningServer, registry: str, versions: int = 1) -> list[UUID]:
    """Register the first versions of the tests' schema as ``flights`` in a new registry; return their ids."""
    glue = server.client("glue")
    glue.create_registry(RegistryName=registry)
    made = glue.create_schema(
        RegistryId={"RegistryName": registry},
        SchemaName="flights",
        DataFormat="AVRO",
        Compatibility="NONE",
        SchemaDefinition=json.dumps(DEFINITIONS[0]),
    )
    ids = [made["SchemaVersionId"]]
    for definition in DEFINITIONS[1:versions]:
        schema = {"RegistryName": registry, "SchemaName": "flights"}
        ids.append(glue.register_schema_version(SchemaId=schema, SchemaDefinition=json.dumps(definition))["SchemaVersionId"])
    return [UUID(id_) for id_ in ids]


def frame_of(version: UUID, framed: bytes) -> bytes:
    """Return the record of :func:`tests.integration.spark.stream.frame` with a registered version's id."""
    return framed[:2] + version.bytes + framed[18:]


class Command:
    """A running ``penstock``; its standard output and error are in files."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._out, self._err = folder / "stdout", folder / "stderr"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *arguments],
                env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1", **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def lines(self, text: str) -> list[str]:
        """The lines of the output with ``text``."""
        return [line for line in self.out.splitlines() if text in line]

    def wait_for(self, text: str, count: int = 1, *, error: bool = False) -> None:
        """Wait until ``count`` lines with ``text`` were printed."""

        def printed() -> bool:
            lines = (self.err if error else self.out).splitlines()
            return sum(text in line for line in lines) >= count or self.process.poll() is not None

        wait_until(printed, seconds=_SECONDS)
        result = sum(text in line for line in (self.err if error else self.out).splitlines())
        assert result >= count, f"{self.process.poll()}\n{self.out}\n{self.err[-3000:]}"

    def jvm(self) -> psutil.Process:
        """The process of its JVM, once there is one."""
        processes = wait_until(self._java, seconds=_SECONDS)
        assert processes, self.err
        return processes[0]

    def _java(self) -> list[psutil.Process]:
        return [child for child in psutil.Process(self.process.pid).children() if child.name() == "java"]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send the signal, and return the exit status."""
        self.process.send_signal(how)
        return self.process.wait(_SECONDS)


@contextmanager
def started(arguments: Sequence[str], environment: Mapping[str, str], folder: Path) -> Iterator[Command]:
    """Run a command for the length of the block, and end its whole process group after it."""
    command = Command(arguments, environment, folder)
    try:
        yield command
    finally:
        for _ in range(2):  # the JVM may have been started meanwhile
            try:
                os.killpg(command.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                break
            command.process.wait(_SECONDS)

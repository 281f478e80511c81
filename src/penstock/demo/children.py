"""The demo's child processes, which are a user's commands: the platform, the job, the producers."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.errors import EnvironmentProblem, PenstockError
from penstock.interpreter import python_module
from penstock.local.processes.child import Child, Service
from penstock.retries import wait_until

__all__ = ["Batches", "ChildFailed", "Command", "Job", "KillInBatch", "penstock", "read_batches"]

_TAIL = 15  # printed lines of a failed child's output


class ChildFailed(PenstockError):
    """A command that the demo ran ended with an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The metrics of a job so far: sums over its committed batches, and each batch's line."""

    lines: Sequence[Mapping[str, Any]] = ()

    @property
    def records(self) -> int:
        """Records written or dead-lettered."""
        return sum(line["rows"] + line["dead"] for line in self.lines)

    @property
    def mixed(self) -> int:
        """Batches with more than one schema version."""
        return sum(len(line["versions"]) > 1 for line in self.lines)


class Command:
    """``penstock ARGUMENTS`` as a child process that ends with the demo, also after SIGKILL.

    ``log`` gets its output. :meth:`wait_ready` waits for ``ready``, up to ``seconds``; after SIGTERM it has ``grace``
    seconds to end.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        ready: Callable[[], bool] = lambda: True,
        seconds: float = 300,
        grace: float = 60,
    ) -> None:
        self.log = log
        self._child = Child(
            Service(
                name=arguments[0],
                title=f"command 'penstock {arguments[0]}'",
                command=lambda: python_module("penstock", *arguments),
                environment=environment,
                is_ready=ready,
                start_timeout=seconds,
                stop_grace=grace,
            ),
            log,
        )

    def start(self) -> "Command":
        """Start the command without waiting; see :meth:`wait_ready`."""
        self._child.start()
        return self

    def wait_ready(self) -> None:
        """Wait until it is ready. Raises :class:`EnvironmentProblem` with its log's end if it ends or takes too long."""
        self._child.wait_ready()

    @property
    def status(self) -> int | None:
        """The exit status (128 + signal if one ended it); None while it runs."""
        return self._child.exit_status

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; return the exit status, None if it has not ended after ``seconds``."""
        return self._child.wait(seconds)

    def terminate(self) -> None:
        """Send SIGTERM to the command alone, as an operator would; it ends its own children."""
        self._child.signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to the command's process group at once, as in a crash."""
        self._child.kill()

    def stop(self) -> None:
        """End the command and its children, if it still runs."""
        self._child.stop()


def penstock(arguments: Sequence[str], environment: Mapping[str, str], *, timeout: float = 300) -> str:
    """Run ``penstock ARGUMENTS`` to its end and return its standard output. Raises :class:`ChildFailed`."""
    try:
        result = subprocess.run(
            python_module("penstock", *arguments),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ChildFailed(f"'penstock {arguments[0]}' did not end within {timeout:.0f} s.") from None
    if result.returncode != 0:
        raise ChildFailed(
            f"'penstock {arguments[0]}' ended with {result.returncode}: {_tail(result.stdout + result.stderr)}"
        )
    return result.stdout


@dataclass(slots=True)
class Job:
    """The streaming job: ``penstock run`` with its metrics file, started, killed and stopped."""

    pipeline: Path
    metrics: Path
    log: Path
    environment: Mapping[str, str]
    _command: Command | None = field(default=None)

    def start(self) -> None:
        """Start the job, or start it again after a kill."""
        arguments = ["run", str(self.pipeline), "--metrics", str(self.metrics)]
        # Each of the demo's two JVMs runs for half a minute, too short for the JDK's second compiler to pay off.
        arguments += ["--conf", "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1"]
        self._command = Command(arguments, self.environment, self.log).start()

    def kill(self) -> None:
        """Send SIGKILL to the driver, its JVM and their children at once."""
        self._running().kill()
        self._command = None

    def stop(self, *, timeout: float = 90) -> None:
        """End the job as an operator would, with SIGTERM, and wait."""
        command, self._command = self._command, None
        if command is None or command.status is not None:
            return
        command.terminate()
        if command.wait(timeout) is None:
            command.kill()
            raise ChildFailed(f"The job did not end within {timeout:.0f} s of SIGTERM.")

    def wait_until(
        self, enough: Callable[[Batches], bool], what: str, *, timeout: float, show: Callable[[Batches], None]
    ) -> Batches:
        """Wait until the metrics satisfy ``enough``; an error names ``what`` and has the end of the job's log."""

        def reached() -> Batches | None:
            batches = read_batches(self.metrics)
            show(batches)
            if enough(batches):
                return batches
            self._running()
            return None

        batches = wait_until(reached, seconds=timeout, every=0.1)
        if batches is None:
            count = read_batches(self.metrics).records
            raise ChildFailed(f"The job did not reach {what} within {timeout:.0f} s ({count} records so far).")
        return batches

    def _running(self) -> Command:
        if self._command is None:
            raise EnvironmentProblem("The job was not started.")
        if (status := self._command.status) is not None:
            raise ChildFailed(f"The job ended with {status}: {_tail(self.log.read_text(errors='replace'))}")
        return self._command


class KillInBatch:
    """Kills a job as soon as one of its batches has begun to write staged files.

    ``staging`` is the hidden folder of the table. A thread watches it from :meth:`start` on.
    """

    def __init__(self, job: Job, staging: Path) -> None:
        self._job = job
        self._staging = staging
        self._staged_files = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="kill", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def finish(self, *, timeout: float) -> int:
        """Wait for the kill; return how many staged files it left."""
        self._thread.join(timeout)
        self._stop.set()
        if not self._staged_files:
            raise ChildFailed(f"No batch began to write within {timeout:.0f} s, so none was killed in the middle.")
        return self._staged_files

    def _watch(self) -> None:
        while not self._stop.wait(0.002):
            if self._staged():
                self._job.kill()
                self._staged_files = self._staged()
                return

    def _staged(self) -> int:
        # The job creates and removes folders meanwhile; os.walk skips deleted ones.
        return sum(len(files) for folder, _, files in os.walk(self._staging) if "staging" in Path(folder).parts)


def read_batches(metrics: Path) -> Batches:
    """Return the committed batches in a metrics file, without a line that is still being written."""
    if not metrics.exists():
        return Batches()
    lines = [json.loads(line) for line in metrics.read_text().split("\n")[:-1]]
    return Batches(lines=[line for line in lines if line["outcome"] == "committed"])


def _tail(text: str) -> str:
    return "\n" + "\n".join(text.strip().splitlines()[-_TAIL:])

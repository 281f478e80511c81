"""A watchdog of one child process: it copies the child's output into a bounded log, and ends it when the owner is gone.

Run as a file, isolated from the environment's packages: ``python -I leash.py OWNER_PID LOG MAX_BYTES GRACE -- COMMAND``.
Standard input is a pipe whose other end only the owner has open, so that the kernel closes it however the owner ends,
SIGKILL included. Unlike Linux's parent-death signal this works on macOS too. The child leads a process group of its own.

* The owner closes the pipe, dies, or sends SIGTERM: the child's group gets SIGTERM, after GRACE seconds SIGKILL.
* The child ends: the rest of its group is killed and its exit status becomes the leash's (128 + signal).

The log is renamed to ``LOG.1`` when it exceeds MAX_BYTES, so that both together stay under twice that.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

__all__ = ["main"]

_OWNER_CHECK = 1.0  # seconds; for an owner whose pipe end is still open in a forked child
_SPAWN_FAILED = 127
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class BoundedLog:
    """Appends to a file, and renames a full one to its one predecessor."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        self.file = path.open("ab", buffering=0)
        self.size = self.file.tell()

    def write(self, data: bytes) -> None:
        """Append; a full disk loses log lines, not the child."""
        if self.size + len(data) > self.limit:
            with contextlib.suppress(OSError):
                self.file.close()
                self.path.replace(self.path.with_name(self.path.name + ".1"))
                self.file = self.path.open("ab", buffering=0)
                self.size = 0
        with contextlib.suppress(OSError, ValueError):
            self.size += self.file.write(data) or 0


def _die_with_parent() -> None:
    """On Linux, let the kernel kill the child when this leash is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class Leash:
    """The loop that waits for the child's end, its output, and the owner's end."""

    def __init__(self, owner: int, log: BoundedLog, grace: float, command: list[str]) -> None:
        self.owner = owner
        self.log = log
        self.grace = grace
        self.deadline: float | None = None
        self.wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(self.wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - the leash has one thread
        )

    def end(self) -> None:
        """Send the child SIGTERM; kill it after the grace."""
        if self.deadline is None:
            self.deadline = time.monotonic() + self.grace
            _signal_group(self.child.pid, signal.SIGTERM)

    def run(self) -> int:
        """Wait until the child has ended. Return its exit status."""
        output = self.child.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ, "output")
            selector.register(sys.stdin.fileno(), selectors.EVENT_READ, "owner")
            selector.register(self.wake_read, selectors.EVENT_READ, "signal")
            while self.child.poll() is None:
                for key, _ in selector.select(_OWNER_CHECK):
                    self.attend(key.data, key.fd, selector)
                if os.getppid() != self.owner:
                    self.end()
                if self.deadline is not None and time.monotonic() > self.deadline:
                    _signal_group(self.child.pid, signal.SIGKILL)
        _signal_group(self.child.pid, signal.SIGKILL)
        self.drain(output.fileno())
        status = self.child.returncode
        return status if status >= 0 else 128 - status

    def attend(self, what: str, descriptor: int, selector: selectors.BaseSelector) -> None:
        """Handle one readable descriptor."""
        if what == "output":
            if self.drain(descriptor):
                selector.unregister(descriptor)
        elif what == "owner":
            if not os.read(descriptor, 4096):
                selector.unregister(descriptor)
                self.end()
        else:
            with contextlib.suppress(BlockingIOError):
                os.read(descriptor, 4096)

    def drain(self, descriptor: int) -> bool:
        """Copy the available output into the log. Return whether the output has ended."""
        for _ in range(64):
            try:
                data = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return False
            if not data:
                return True
            self.log.write(data)
        return False


def main(arguments: list[str]) -> int:
    """Run one child; see the module's docstring."""
    owner, path, limit, grace, separator, *command = arguments
    assert separator == "--"
    log = BoundedLog(Path(path), int(limit))
    try:
        leash = Leash(int(owner), log, float(grace), command)
    except OSError as error:
        log.write(f"{command[0]} does not start: {error}\n".encode())
        return _SPAWN_FAILED
    return leash.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

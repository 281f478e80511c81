"""The child's side: it leaves Ctrl-C to its owner, ends with it, and may reach what its owner lets it.

Standard library and :mod:`penstock.sandbox` alone, since some children import nothing else.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from penstock.sandbox.confinement import Confinement, confine, is_possible
from penstock.sandbox.privileges import end_with_parent
from penstock.sandbox.program_files import needed_files

__all__ = ["confine_to", "end_with_owner", "ignore_interrupts"]

_OWNER_CHECK = 0.5  # seconds


def confine_to(
    environment: Mapping[str, str],
    *,
    read: Iterable[Path],
    write: Iterable[Path],
    connect: tuple[int, ...] = (),
    local_ports: bool = False,
    all_files: bool = False,
) -> None:
    """Confine this process, where the machine can (ADR 41), to what programs need, and the folders and ports named.

    It must have one thread: Python starts none itself, libraries such as Arrow do when they are imported.
    """
    if is_possible():
        reads = needed_files(environment, *read)
        confine(Confinement(read=reads, write=tuple(write), connect=connect, local_ports=local_ports, all_files=all_files))


def ignore_interrupts() -> None:
    """Leave Ctrl-C at the owner's terminal to the owner, which alone decides when work ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_with_owner() -> None:
    """End this process when the one that started it ends, whatever it does then. This starts a thread.

    Linux ends it at once, elsewhere it is noticed after half a second.
    """
    owner = os.getppid()
    if sys.platform == "linux":
        end_with_parent(owner)

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(_OWNER_CHECK)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()

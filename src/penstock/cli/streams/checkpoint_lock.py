"""The lock of a checkpoint on this machine."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.locks import file_lock

__all__ = ["checkpoint_lock"]


@contextmanager
def checkpoint_lock(checkpoint: str, what: str, folder: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint, a file in ``folder``, which stops a second run (``what``) on this machine.

    Spark notices two runs on one checkpoint only when both have written to it. The kernel releases the lock of a
    killed run.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256(checkpoint.rstrip("/").encode()).hexdigest()[:16]
    file = folder / f"pipeline-{digest}.lock"
    try:
        lock = file_lock(file).acquire()
    except TimeoutError:
        raise InvalidInput(
            f"Another run of {what} (process {file.read_text().strip() or 'unknown'}) uses the checkpoint {checkpoint}.",
            remedy="Stop it first, or use another checkpoint and other locations.",
        ) from None
    with lock:
        file.write_text(f"{os.getpid()}\n")
        yield

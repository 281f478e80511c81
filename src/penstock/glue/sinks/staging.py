"""Files that become visible when all of them are complete: written to a hidden folder, synced, then renamed."""

import uuid
from collections.abc import Callable, Sequence

from penstock.spark.hadoop import HadoopFiles

__all__ = ["publish"]


def publish(
    files: HadoopFiles,
    path: str,
    save: Callable[[str], None],
    *,
    before: Callable[[Sequence[str]], None] = lambda _: None,
) -> list[str]:
    """Call ``save(folder)`` with a folder that readers skip, then move its files below ``path``; return their paths there.

    ``before`` gets the paths before the first file is moved. If it or ``save`` fails, nothing is visible.
    """
    target = path.rstrip("/")
    staged = f"{target}/.glue-{uuid.uuid4().hex}"
    try:
        save(staged)
        moved = {file: target + file.removeprefix(staged) for file in files.walk(staged) if not _hidden(file, staged)}
        files.sync(moved, below=staged)
        before(list(moved.values()))
        for file, final in moved.items():
            files.move(file, final)
        files.sync(moved.values(), below=target)
    finally:
        files.delete(staged)
    return list(moved.values())


def _hidden(file: str, staged: str) -> bool:
    return any(part.startswith((".", "_")) for part in file.removeprefix(staged).split("/") if part)

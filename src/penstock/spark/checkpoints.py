"""Read the query and its offsets from Spark's checkpoint, and check that it belongs to the ledger.

Files of a checkpoint (Spark's ``HDFSMetadataLog``): ``metadata`` has the query's id, ``offsets/N`` the end offsets of a
batch, ``sources/0/0`` the start offsets of the first batch; ``commits/N`` marks a batch as done.
"""

import json
import re
from typing import Any

from penstock.errors import DataProblem
from penstock.lake.files import FileSystem
from penstock.lake.ledger import RESTORE, Batch, Ledger, Manifest

__all__ = [
    "batch_of",
    "check",
    "last_commit",
    "lost_offsets",
    "query_id",
    "record_count",
    "remove_empty_files",
    "resume_offsets",
    "sync_log",
]

_NUMBER = re.compile(r"\d+")
_MISSING_IS = "The stream would begin again and write its records a second time."


def query_id(files: FileSystem, checkpoint: str) -> str | None:
    """Return the id of the query that owns a checkpoint; None if there is no checkpoint yet."""
    path = f"{checkpoint}/metadata"
    if not files.exists(path):
        return None
    try:
        return str(json.loads(files.read(path))["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, "it has no query id") from error


def _damaged(path: str, reason: str) -> DataProblem:
    return DataProblem(f"The checkpoint file {path} is damaged: {reason}.", remedy=RESTORE)


def _offsets(files: FileSystem, path: str) -> str:
    """Return the source's offsets in a checkpoint file as canonical JSON; Kafka's are {topic: {partition: offset}}."""
    try:
        lines = files.read(path).decode().replace("\0", "").splitlines()
    except FileNotFoundError:
        raise DataProblem(f"The checkpoint file {path} is missing.", remedy=RESTORE) from None
    except UnicodeDecodeError as error:
        raise _damaged(path, "it is not text") from error
    if not lines or not lines[0].startswith("v") or len(lines) < 2:
        raise _damaged(path, "it has no offsets" if lines else "it is empty")
    try:
        return _canonical(json.loads(lines[-1]))
    except ValueError as error:
        raise _damaged(path, "its offsets are not JSON") from error


def _canonical(offsets: Any) -> str:
    """Return offsets as the ledger compares them: Kafka's by topic and by number of partition, others by their keys."""
    try:
        topics = {topic: {int(part): int(offset) for part, offset in parts.items()} for topic, parts in offsets.items()}
    except (ValueError, AttributeError, TypeError):
        return json.dumps(offsets, sort_keys=True)
    return json.dumps({topic: dict(sorted(parts.items())) for topic, parts in sorted(topics.items())})


def batch_of(files: FileSystem, checkpoint: str, number: int) -> Batch:
    """Return the batch with its offsets, from the checkpoint's log."""
    before = f"{checkpoint}/offsets/{number - 1}" if number else f"{checkpoint}/sources/0/0"
    end = _offsets(files, f"{checkpoint}/offsets/{number}")
    if not number and not _is_kafkas(end):
        return Batch(number, "{}", end)  # Only Spark's Kafka source logs where its first batch starts.
    return Batch(number, _offsets(files, before), end)


def _is_kafkas(offsets: str) -> bool:
    topics = json.loads(offsets).values()
    return all(isinstance(parts, dict) and all(isinstance(part, int) for part in parts.values()) for parts in topics)


def sync_log(files: FileSystem, checkpoint: str, number: int, *, first: bool = True) -> None:
    """Sync Spark's log of batch ``number`` before the batch runs, and of the batches before it.

    With ``first``, also what Spark writes once, before its first batch.
    """
    names = [*(["metadata", "sources/0/0"] if first else []), f"offsets/{number}"]
    names += [f"commits/{number - 1}"] if number else []
    # The file source's log, which names the files of a batch. After a crash it can be a number ahead of the batches.
    names += [f"sources/0/{index}{suffix}" for index in range(number, number + 3) for suffix in ("", ".compact")]
    files.sync([f"{checkpoint}/{name}" for name in names], below=checkpoint)


def record_count(batch: Batch) -> int:
    """Return the offsets between a batch's start and end: its records, or more in compacted or transactional topics."""
    start, end = json.loads(batch.start), json.loads(batch.end)
    return sum(
        max(0, offset - start.get(topic, {}).get(partition, 0))
        for topic, parts in end.items()
        for partition, offset in parts.items()
    )


def lost_offsets(batch: Batch, records: int) -> list[str]:
    """Return sentences about offsets without a record in a batch of ``records`` records.

    For a source that accepts data loss, because Spark then skips lost records without a message.
    """
    start, end = json.loads(batch.start), json.loads(batch.end)
    sentences = []
    for topic, parts in end.items():
        for partition, offset in parts.items():
            before = start.get(topic, {}).get(partition, 0)
            if offset < before:
                sentences.append(
                    f"partition {partition} of topic {topic} went back from offset {before} to {offset}: the topic was made "
                    f"anew, and its records before offset {offset} are not read"
                )
    missing = record_count(batch) - records
    if missing > 0:
        sentences.append(f"{missing:,} offsets have no record: expired, compacted, or transaction markers")
    return sentences


def _numbers(files: FileSystem, folder: str) -> list[int]:
    return sorted(int(name) for name in files.names(folder) if _NUMBER.fullmatch(name))


def last_commit(files: FileSystem, checkpoint: str) -> int | None:
    """Return the number of the last batch that Spark committed; None if there is none."""
    numbers = _numbers(files, f"{checkpoint}/commits")
    return numbers[-1] if numbers else None


def _check_commit(files: FileSystem, checkpoint: str) -> None:
    """Check the newest ``commits/N``: Spark refuses an invalid one. Without it the batch is replayed, which is harmless."""
    for number in _numbers(files, f"{checkpoint}/commits")[-1:]:
        path = f"{checkpoint}/commits/{number}"
        if not files.read(path).startswith(b"v"):
            raise DataProblem(
                f"The checkpoint file {path} is damaged: it is not a commit.",
                remedy="Remove it: the batch is then run again, and the ledger prevents duplicates.",
            )


def remove_empty_files(files: FileSystem, checkpoint: str, last: Manifest | None) -> list[str]:
    """Remove the newest files of Spark's log that a power loss left empty; return the removed paths.

    Spark does not sync them, and does not start with an empty one. Only files that the ledger does not need are removed:
    ``last`` is its last commit, and :func:`check` handles files that were synced before it (:func:`sync_log`).
    """
    numbers = _numbers(files, f"{checkpoint}/offsets")
    candidates = [f"{checkpoint}/commits/{number}" for number in _numbers(files, f"{checkpoint}/commits")[-1:]]
    if numbers and (last is None or numbers[-1] > last.batch.id):
        candidates.append(f"{checkpoint}/offsets/{numbers[-1]}")
    if last is None:
        candidates += [f"{checkpoint}/{name}" for name in ("metadata", "sources/0/0")]
    empty = [path for path in candidates if files.exists(path) and not files.read(path)]
    for path in empty:
        files.delete(path)
    return empty


def check(files: FileSystem, checkpoint: str, ledger: Ledger) -> None:
    """Raise :class:`DataProblem` with the file if the ledger has commits that the checkpoint has lost."""
    query = query_id(files, checkpoint)
    last = ledger.last()
    numbers = _numbers(files, f"{checkpoint}/offsets")
    if numbers:
        _offsets(files, f"{checkpoint}/offsets/{numbers[-1]}")
    _check_commit(files, checkpoint)
    if last is None:
        return
    if query is None:
        raise DataProblem(
            f"The checkpoint file {checkpoint}/metadata is missing, and the ledger has batches up to {last.batch.id}. "
            f"{_MISSING_IS}",
            remedy=RESTORE,
        )
    ledger.open()
    current = ledger.recent(1)
    if not current:
        return
    newest = current[0].batch
    path = f"{checkpoint}/offsets/{newest.id}"
    if not numbers or numbers[-1] < newest.id:
        raise DataProblem(
            f"The checkpoint file {path} is missing, and the ledger has committed batch {newest.id}. {_MISSING_IS}",
            remedy=RESTORE,
        )
    if _offsets(files, path) != newest.end:
        raise DataProblem(
            f"The checkpoint file {path} says {_offsets(files, path)}, the ledger committed batch {newest.id} at "
            f"{newest.end}.",
            remedy=RESTORE,
        )


def resume_offsets(files: FileSystem, checkpoint: str, last: Manifest | None) -> str | None:
    """Return the offsets after the ledger's last commit for a new checkpoint, as Spark's ``startingOffsets``.

    None if the ledger has no commit. Raises :class:`DataProblem` if the checkpoint is in use already.
    """
    if last is None:
        return None
    initial = f"{checkpoint}/sources/0/0"
    if files.exists(initial) and _offsets(files, initial) != last.batch.end:
        raise DataProblem(
            f"The checkpoint {checkpoint} is not new: it starts at {_offsets(files, initial)}, the ledger ends at "
            f"{last.batch.end}.",
            remedy="Name a checkpoint location that does not exist yet.",
        )
    return last.batch.end

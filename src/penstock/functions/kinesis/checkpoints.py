"""The checkpoints of a stream's shards: a small file for each mapping, written atomically and locked by one run.

Lambda stores this itself. Here it is a file of this machine, so only one run can read a stream; a second one is refused.
"""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict

from penstock import durable
from penstock.client.kinesis import ShardPosition
from penstock.errors import EnvironmentProblem, InvalidInput
from penstock.locks import file_lock

__all__ = ["Checkpoint", "Checkpoints", "checkpoint_of", "position_of"]


class Checkpoint(TypedDict, total=False):
    """Where a shard continues: after a sequence number, at a time (milliseconds since 1970), or nowhere after its end."""

    after: str
    from_ms: int
    ended: Literal[True]


def checkpoint_of(position: ShardPosition) -> Checkpoint:
    """Return the position as the file has it."""
    if position.ended:
        return {"ended": True}
    if position.after is not None:
        return {"after": position.after}
    return {} if position.at_ms is None else {"from_ms": position.at_ms}


def position_of(checkpoint: Checkpoint) -> ShardPosition:
    """Return the position of a ``checkpoint`` in the file."""
    return ShardPosition(after=checkpoint.get("after"), at_ms=checkpoint.get("from_ms"), ended=bool(checkpoint.get("ended")))


class Checkpoints:
    """The checkpoints of one mapping by shard. Safe for threads.

    Raises :class:`InvalidInput` if another run has locked them, :class:`EnvironmentProblem` if they cannot be stored.
    """

    def __init__(self, folder: Path, mapping: str) -> None:
        self._path = folder / f"{mapping}.json"
        self._lock = threading.Lock()
        try:
            durable.make_folder(folder, mode=0o700)
            self._file_lock = file_lock(folder / f"{mapping}.lock")
            self._file_lock.acquire()
        except TimeoutError:
            raise InvalidInput(
                f"Another run on this machine reads the stream of mapping {mapping}.",
                remedy="Stop it, or give the mapping another UUID.",
            ) from None
        except OSError as error:
            raise self._problem(error) from None
        self._shards: dict[str, Checkpoint] = self._read()

    def all(self) -> dict[str, Checkpoint]:
        """Return all shards that were begun."""
        with self._lock:
            return dict(self._shards)

    def ended(self) -> set[str]:
        """Return the closed shards that were read to their end."""
        return {shard for shard, checkpoint in self.all().items() if checkpoint.get("ended")}

    def set(self, shard: str, checkpoint: Checkpoint) -> None:
        """Store a shard's checkpoint durably."""
        self.update({shard: checkpoint})

    def update(self, checkpoints: Mapping[str, Checkpoint]) -> None:
        """Store checkpoints by shard, all of them or none."""
        with self._lock:
            self._shards.update(checkpoints)
            try:
                with durable.writing(self._path) as file:
                    file.write(json.dumps(self._shards).encode())
            except OSError as error:
                raise self._problem(error) from None

    def close(self) -> None:
        """Release the lock."""
        self._file_lock.release()

    def _read(self) -> dict[str, Checkpoint]:
        try:
            document: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._problem(error) from None
        except ValueError:
            document = None
        if not isinstance(document, dict) or not all(isinstance(item, dict) for item in document.values()):
            raise EnvironmentProblem(
                f"{self._path} is not a file of checkpoints.",
                remedy="Restore it, or remove it to begin at StartingPosition.",
            )
        return document

    def _problem(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"Checkpoints cannot be stored in {self._path}: {error.strerror}.", remedy="Name another folder with --state."
        )

"""A Delta table's log: the files, columns and partition keys of its newest version.

Source: Delta transaction log protocol. What a reader may not ignore (deletion vectors, column mapping, features of later
versions) is refused by name.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.bounded_json import read_json
from penstock.errors import DataProblem
from penstock.types.hive import stored
from penstock.types.model import TypeMissing
from penstock.types.spark import of_json

__all__ = ["DeltaDamaged", "DeltaRefused", "DeltaState", "read_log"]


class DeltaRefused(DataProblem):
    """A Delta table uses what is not read."""


class DeltaDamaged(DataProblem):
    """A Delta table's log is missing, or not complete."""


_COMMIT = re.compile(r"(\d{20})\.json", re.ASCII)
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet", re.ASCII)
_MAX_LINE = 16 * 1024 * 1024
_MAX_VALUES = 1_000_000
_MAX_DEPTH = 200
_MAX_COMMIT = 256 << 20  # bytes of one commit's file
_IGNORED = frozenset(
    {"timestampNtz", "deletionVectors", "columnMapping", "vacuumProtocolCheck", "v2Checkpoint", "checkpointProtection"}
)
"""Features of readers that matter only where they are used, which is refused then."""


@dataclass(slots=True)
class DeltaState:
    """The newest version: names and Hive types of the columns, names of the partition keys, files by path."""

    name: str
    columns: list[tuple[str, str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    files: dict[str, tuple[int, Mapping[str, str | None]]] = field(default_factory=dict)
    """By path, relative to the table or an ``s3://`` name: size in bytes, and the partition's values."""

    def refused(self, what: str) -> DeltaRefused:
        """Return the error about something that the table uses and that is not read."""
        return DeltaRefused(f"The Delta table '{self.name}' cannot be read: {what}.", remedy="Read it with Spark.")

    def damaged(self, what: str) -> DeltaDamaged:
        """Return the error about a log that is not complete."""
        return DeltaDamaged(f"The log of the Delta table '{self.name}' {what}.")

    def apply(self, action: Mapping[str, Any]) -> None:
        """Change the state by one action of the log."""
        if action.get("protocol"):
            self._check(action["protocol"])
        if action.get("metaData"):
            self._describe(action["metaData"])
        added, removed = action.get("add"), action.get("remove")
        if removed and removed.get("path"):
            self.files.pop(unquote(removed["path"]), None)
        if added and added.get("path"):
            if added.get("deletionVector"):
                raise self.refused("it has deletion vectors")
            self.files[unquote(added["path"])] = (int(added["size"]), dict(added.get("partitionValues") or {}))

    def _check(self, protocol: Mapping[str, Any]) -> None:
        version = int(protocol.get("minReaderVersion") or 1)
        unknown = sorted(set(protocol.get("readerFeatures") or ()) - _IGNORED)
        if version > 3 or unknown:
            raise self.refused(f"it needs {', '.join(unknown)}" if unknown else f"it needs readers of version {version}")

    def _describe(self, metadata: Mapping[str, Any]) -> None:
        configuration = dict(metadata.get("configuration") or {})
        if configuration.get("delta.columnMapping.mode", "none") != "none":
            raise self.refused("its columns are mapped to other names")
        if (metadata.get("format") or {}).get("provider", "parquet") != "parquet":
            raise self.refused("its files are not Parquet")
        fields = read_json(metadata["schemaString"].encode(), most=_MAX_VALUES, deepest=_MAX_DEPTH)["fields"]
        self.columns = [(item["name"], self._type(item["type"])) for item in fields]
        self.keys = list(metadata.get("partitionColumns") or ())

    def _type(self, delta_type: Any) -> str:
        try:
            return stored(of_json(delta_type))
        except TypeMissing:
            raise self.refused(f"it has a column of type {str(delta_type)[:100]}") from None


def read_log(folder: Path, name: str, *, check: Callable[[Sequence[Path]], object] = lambda _: None) -> DeltaState:
    """Read the log in ``folder`` (``_delta_log``) of the table ``name``. Raises DeltaRefused, DeltaDamaged.

    ``check`` gets the files before they are opened; its errors pass through.
    """
    state = DeltaState(name)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    commits = {int(match[1]): match[0] for match in map(_COMMIT.fullmatch, names) if match}
    start, checkpoint = _last_checkpoint(names)
    last = max([start, *commits])
    if last < 0:
        raise state.damaged("does not exist")
    later = [commits[version] for version in range(start + 1, last + 1) if version in commits]
    check([folder / item for item in (*checkpoint, *later)])
    try:
        for part in checkpoint:
            for action in _checkpoint_actions(folder / part):
                state.apply(action)
        for version in range(start + 1, last + 1):
            if version not in commits:
                raise state.damaged(f"has no version {version}")
            for action in _commit_actions(folder / commits[version]):
                state.apply(action)
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise state.damaged(f"cannot be read: {error}") from error
    if not state.columns:
        raise state.damaged("has no schema")
    return state


def _last_checkpoint(names: list[str]) -> tuple[int, list[str]]:
    """Return the version and the files of the last complete checkpoint; -1 and none without one."""
    parts: dict[int, list[tuple[str, int]]] = {}
    for match in map(_CHECKPOINT.fullmatch, names):
        if match:
            parts.setdefault(int(match[1]), []).append((match[0], int(match[3] or 1)))
    for version in sorted(parts, reverse=True):
        for count in {count for _, count in parts[version]}:
            files = [name for name, number in parts[version] if number == count]
            if len(files) == count:
                return version, files
    return -1, []


def _checkpoint_actions(path: Path) -> Iterator[Mapping[str, Any]]:
    file = pq.ParquetFile(path)
    wanted = [name for name in ("add", "metaData", "protocol") if name in file.schema_arrow.names]
    for batch in file.iter_batches(batch_size=4_096, columns=wanted):
        yield from batch.to_pylist(maps_as_pydicts="strict")


def _commit_actions(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.stat().st_size > _MAX_COMMIT:
        raise ValueError(f"{path.name} is larger than {_MAX_COMMIT:,} bytes")
    with path.open("rb") as file:
        while line := file.readline(_MAX_LINE + 1):
            if len(line) > _MAX_LINE:
                raise ValueError(f"{path.name} has a line of more than {_MAX_LINE:,} bytes")
            if line.strip():
                action = read_json(line, most=_MAX_VALUES, deepest=_MAX_DEPTH)
                if not isinstance(action, dict):
                    raise TypeError(f"{path.name} has a line that is not an action")
                yield action

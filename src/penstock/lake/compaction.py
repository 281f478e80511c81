"""Where a table's compacted partitions are: a journal below the table, which the stream reads before it renames files.

Layout below a table's folder, hidden from readers by the underscores::

    _penstock/_compaction/PARTITION.json     what was done to the partition; PARTITION is its folder, percent-encoded
    _compacted/NNNNNN/day=2013-01-01/...     the partition's files after its compaction NNNNNN

A partition goes from ``planned`` (list of files frozen) over ``written`` (new files complete and verified) and ``swapped``
(the stream writes to the new folder, and readers are sent there) to ``deleted`` (old files gone). Each step can be run
again after a kill at any point.

The stream asks :meth:`Relocations.place` before and after it renames a file. If the swap is journalled before the second
question, the stream moves the file itself; if after, the file was in the old folder before the journal, and the
compaction, which lists that folder once more behind its swap, moves it. So no file stays behind.
"""

import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal
from urllib.parse import quote

from penstock.errors import DataProblem
from penstock.lake.files import FileSystem

__all__ = ["COMPACTED", "HIDDEN", "Compaction", "CompactionState", "Journal", "Relocations"]

HIDDEN = "_penstock"
"""The hidden folder of a table with what pipelines and compactions know of it."""

COMPACTED = "_compacted"
"""The hidden folder of a table with the files of compacted partitions."""

CompactionState = Literal["planned", "written", "swapped", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """One compaction of one partition. ``inputs`` and ``outputs`` map files to bytes; ``partition`` is its folder's name.

    ``source`` is the partition's location before, ``target`` after it, both without a final slash. ``swapped_at`` is in
    seconds since the epoch; the old files are kept for the grace time from then on.
    """

    partition: str
    number: int
    state: CompactionState
    source: str
    target: str
    inputs: Mapping[str, int] = field(default_factory=dict)
    outputs: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0
    swapped_at: float | None = None

    def at(self, state: CompactionState, **changes: object) -> "Compaction":
        """Return the compaction in its next state."""
        return replace(self, state=state, **changes)  # type: ignore[arg-type]


class Journal:
    """The compactions of one table, the last one of each partition."""

    def __init__(self, files: FileSystem, table: str) -> None:
        self._files = files
        self._folder = f"{table.rstrip('/')}/{HIDDEN}/_compaction"

    def partitions(self) -> frozenset[str]:
        """Return the names of the journal's files; a partition is journalled if its :meth:`name` is among them."""
        return frozenset(self._files.names(self._folder))

    @staticmethod
    def name(partition: str) -> str:
        """Return the file's name for a partition's folder."""
        return f"{quote(partition, safe='=')}.json"

    def last(self, partition: str) -> Compaction | None:
        """Return the last compaction of the partition. Raises :class:`DataProblem` if its journal is damaged."""
        path = f"{self._folder}/{self.name(partition)}"
        try:
            return Compaction(**json.loads(self._files.read(path)))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise DataProblem(f"The journal {path} of a compaction is damaged: {error}.", remedy="Restore it.") from error

    def all(self) -> list[Compaction]:
        """Return the last compaction of each partition that had one."""
        entries = []
        for name in sorted(self.partitions()):
            if name.endswith(".json"):
                entries.append(Compaction(**json.loads(self._files.read(f"{self._folder}/{name}"))))
        return entries

    def write(self, compaction: Compaction) -> None:
        """Record the state; it is on the disk when this returns."""
        data = json.dumps(asdict(compaction), separators=(",", ":"), sort_keys=True).encode()
        self._files.write(f"{self._folder}/{self.name(compaction.partition)}", data)


class Relocations:
    """Where files of tables have to be, as of now; to be made anew where a compaction can have come between.

    A table's journal is listed when one of its files is asked for: once, which on an object store costs a request.
    """

    def __init__(self, files: FileSystem, tables: Sequence[str]) -> None:
        self._journals = {table: Journal(files, table) for table in tables}
        self._known: dict[str, frozenset[str]] = {}
        self._places: dict[str, str] = {}

    def place(self, file: str) -> str:
        """Return where a data file planned at ``file`` (``TABLE/day=…/part-…``) has to be now."""
        folder, name = posixpath.split(file)
        if folder not in self._places:
            self._places[folder] = self._folder(folder)
        return f"{self._places[folder]}/{name}"

    def _folder(self, folder: str) -> str:
        for table, journal in self._journals.items():
            if folder.startswith(f"{table}/"):
                partition = folder[len(table) + 1 :]
                if table not in self._known:
                    self._known[table] = journal.partitions()
                if Journal.name(partition) in self._known[table]:
                    last = journal.last(partition)
                    if last is not None:
                        return last.target if last.state in {"swapped", "deleted"} else last.source
        return folder

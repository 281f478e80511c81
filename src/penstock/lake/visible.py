"""Which files of a table a reader counts: those of committed batches, as of one moment.

The files of a batch appear one rename after another (:mod:`penstock.lake.ledger`). Their names have the query and the
number of the batch, and a query commits its batches in order, so that the last committed number of each query tells
complete batches from the one that is being published. A reader takes a :class:`CommittedBatches` **before** it lists
files: all files of the batches in it are in place by then, and later batches are left out as a whole.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from penstock.lake.compaction import HIDDEN
from penstock.lake.ledger import LEDGER_OF

__all__ = ["CommittedBatches"]

_PART = re.compile(r"part-([0-9a-f]{32})-(\d{10})-\d{4,}\b")
_GENERATION = re.compile(r"\d{4}-([0-9a-f]{32})")
_COMMITTED = re.compile(r"(\d{10})\.committed")


class CommittedBatches:
    """The last committed batch of each query that wrote to a table, when this value was made.

    ``names`` lists a folder (empty if it does not exist), ``read`` returns a file's text, both by location;
    ``table`` is the table's location. A query whose ledger came after that moment is asked for when one of its files is
    met, so that no file of it counts.
    """

    def __init__(self, table: str, *, names: Callable[[str], Sequence[str]], read: Callable[[str], str]) -> None:
        self._hidden = f"{table.rstrip('/')}/{HIDDEN}"
        self._names = names
        self._read = read
        self._last = self._committed()
        self._later: Mapping[str, int] | None = None

    def counts(self, name: str) -> bool:
        """Return whether a file, by its name, is part of the table. Files that no ledger knows are."""
        part = _PART.match(name)
        if part is None or (not self._last and not self._later_queries()):
            return True
        query, batch = part[1], int(part[2])
        if query in self._last:
            return batch <= self._last[query]
        return query not in self._later_queries()

    def _later_queries(self) -> Mapping[str, int]:
        if self._later is None:
            self._later = self._committed()
        return self._later

    def _committed(self) -> dict[str, int]:
        """Return the last committed batch of each query that a ledger knows, -1 for a query without one."""
        highest: dict[str, int] = {}
        for pipeline in self._names(self._hidden):
            ledger = self._ledger(pipeline)
            for generation in self._names(ledger):
                match = _GENERATION.fullmatch(generation)
                entries = self._names(f"{ledger}/{generation}") if match else ()
                # A folder without entries is what removed ones leave: a query writes its first before it publishes files.
                if match and entries:
                    batches = map(_COMMITTED.fullmatch, entries)
                    highest[match[1]] = max((int(batch[1]) for batch in batches if batch), default=-1)
        return highest

    def _ledger(self, pipeline: str) -> str:
        own = f"{self._hidden}/{pipeline}"
        if LEDGER_OF in self._names(own):
            return f"{self._read(f'{own}/{LEDGER_OF}').strip()}/{HIDDEN}/{pipeline}/ledger"
        return f"{own}/ledger"

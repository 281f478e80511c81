"""Job bookmarks: what the sources of a script have read in earlier runs, by their ``transformation_ctx``.

A source asks for the state that the last committed run has left, and proposes the state after its read. The proposals become
the bookmark when the script calls ``job.commit()``: a run that dies before reads the same again. Source: "Tracking processed
data using job bookmarks", https://docs.aws.amazon.com/glue/latest/dg/monitor-continuations.html.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InvalidInput
from penstock.glue.jobs.bookmark_store import BookmarkStore

__all__ = ["Bookmarks", "Marks", "State"]

_log = logging.getLogger("awsglue")

State = Mapping[str, Any]
"""What one source has read, as JSON; only the source knows what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The states between which a source reads: what ``after`` has is left out, and all that ``upto`` lacks.

    ``after`` is None before the first commit, ``upto`` is None unless a paused bookmark names a run to read up to.
    """

    after: State | None = None
    upto: State | None = None


@dataclass(slots=True)
class Bookmarks:
    """The bookmarks of a script's run. Before :meth:`begin`, and with ``job-bookmark-disable``, there are none."""

    _store: BookmarkStore | None = None
    _version: int = 0
    _document: dict[str, Any] = field(default_factory=dict)
    _upto: Mapping[str, Any] | None = None
    _paused: bool = False
    _proposed: dict[str, State] = field(default_factory=dict)

    def begin(
        self, store: BookmarkStore, *, after: str | None = None, upto: str | None = None, paused: bool = False
    ) -> None:
        """Read the bookmark. ``paused`` leaves it as it is; then ``after`` and ``upto`` may be ids of runs, both or none.

        Raises :class:`InvalidInput` for one without the other, and NotFound for a run that the bookmark does not know.
        """
        if (after is None) != (upto is None):
            raise InvalidInput(
                "job-bookmark-from and job-bookmark-to belong together.",
                remedy="Give the ids of two runs, or leave both out.",
            )
        document, self._version = store.read()
        self._document = dict(document if after is None else store.of_run(after))
        self._upto = None if upto is None else store.of_run(upto)
        self._store, self._paused, self._proposed = store, paused, {}

    def marks(self, transformation_ctx: str) -> Marks | None:
        """Return between what a source reads; None if it reads all: without a bookmark, and without a context."""
        if self._store is None or not transformation_ctx:
            return None
        upto = None if self._upto is None else self._upto.get(transformation_ctx, {})
        return Marks(after=self._document.get(transformation_ctx), upto=upto)

    def propose(self, transformation_ctx: str, state: State) -> None:
        """Set what the source will have read once the job has committed. Without a bookmark this does nothing."""
        if self._store is not None and transformation_ctx:
            self._proposed[transformation_ctx] = state

    def commit(self) -> None:
        """Make the proposals the bookmark. Raises ConcurrentModification if another run has committed meanwhile."""
        if self._store is None or self._paused or not self._proposed:
            return
        document = {**self._document, **self._proposed}
        self._version = self._store.commit(document, version=self._version)
        self._document, self._proposed = document, {}

"""Job bookmarks: what the runs of a job have read already, as one document a job, committed by compare-and-set.

Source: Glue API reference, "JobBookmarkEntry", "GetJobBookmark", "ResetJobBookmark"; developer guide, "Tracking processed
data using job bookmarks". Of what the document says only the Spark side knows anything (``penstock.glue``): a JSON
object with an entry for each ``transformation_ctx``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.bounded_json import count_marks
from penstock.errors import InvalidInput
from penstock.jobs.errors import BookmarkMoved, EntryNotFound
from penstock.jobs.model import JOBS, RUNS
from penstock.jobs.named import AccountEntry
from penstock.jobs.store import JobStore, Kind

__all__ = ["BOOKMARKS", "MAX_DOCUMENT", "Bookmark", "BookmarkService", "check_document"]

MAX_DOCUMENT = 4_000_000
"""Characters of a document."""
_MAX_VALUES = 500_000
_MAX_HISTORY = 20
"""How many runs back a bookmark can be rewound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark(AccountEntry):
    """The bookmark of a job.

    ``version`` counts the commits and resets, ``run`` the runs that committed; ``document`` is JSON, empty if nothing was
    committed. ``history`` has the documents of earlier runs, oldest first: each a run's id and its document.
    """

    job: str
    version: int = 0
    run: int = 0
    attempt: int = 0
    run_id: str | None = None
    previous_run_id: str | None = None
    document: str = ""
    history: Sequence[Sequence[str]] = ()

    @property
    def key(self) -> str:
        """The job's name."""
        return self.job


BOOKMARKS = Kind("bookmark", Bookmark)


class BookmarkService:
    """The bookmarks of an account's jobs."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def get(self, job: str, run_id: str | None = None) -> Bookmark:
        """Return the bookmark, or the one that the run ``run_id`` committed. Raises :class:`EntryNotFound`."""
        bookmark = self._store.get(BOOKMARKS, job)
        if bookmark is None or (bookmark.version == 0 and run_id is not None):
            raise EntryNotFound("the bookmark of job", job)
        if run_id is None or run_id == bookmark.run_id:
            return bookmark
        return replace(bookmark, run_id=run_id, previous_run_id=None, document=_committed(bookmark, run_id))

    def read(self, job: str) -> Bookmark:
        """Return the bookmark; a blank one, of version 0, if nothing was committed."""
        return self._store.get(BOOKMARKS, job) or Bookmark(job=job)

    def commit(self, job: str, run_id: str, document: str, *, version: int, attempt: int = 0) -> Bookmark:
        """Replace the document that was read at ``version`` by the one that the run ``run_id`` leaves.

        Raises :class:`BookmarkMoved` if it is at another version by now, and :class:`InvalidInput` for a document that is
        not a JSON object or too long.
        """
        check_document(document)

        def change(stored: Bookmark) -> Bookmark:
            if stored.version != version:
                raise BookmarkMoved(job, version, stored.version)
            # A run commits several times: only its last document can be returned to.
            history = [entry for entry in stored.history if entry[0] != run_id]
            is_same_run = run_id == stored.run_id
            return replace(
                stored,
                version=version + 1,
                run=stored.run if is_same_run else stored.run + 1,
                attempt=attempt,
                run_id=run_id,
                previous_run_id=stored.previous_run_id if is_same_run else stored.run_id,
                document=document,
                history=(*history, (run_id, document))[-_MAX_HISTORY:],
            )

        return self._change(job, change)

    def reset(self, job: str, run_id: str | None = None) -> Bookmark:
        """Forget what was read, or what was read since the run ``run_id`` committed. Raises :class:`EntryNotFound`."""
        if self._store.get(JOBS, job) is None:
            raise EntryNotFound("job", job)

        def change(stored: Bookmark) -> Bookmark:
            if run_id is None:
                return Bookmark(job=job, version=stored.version + 1)
            document = _committed(stored, run_id)
            names = [entry[0] for entry in stored.history]
            history = stored.history[: names.index(run_id) + 1]
            return replace(stored, version=stored.version + 1, run_id=run_id, document=document, history=tuple(history))

        return self._change(job, change)

    def delete(self, job: str) -> None:
        """Forget the bookmark of a job that is deleted."""
        self._store.delete(BOOKMARKS, job)

    def _change(self, job: str, change: Any) -> Bookmark:
        self._store.add(BOOKMARKS, Bookmark(job=job))
        changed = self._store.change(BOOKMARKS, job, change)
        if changed is None:  # deleted since
            raise EntryNotFound("job", job)
        return changed

    def of_run(self, run_id: str) -> Bookmark:
        """Return the bookmark that a run reads. Raises :class:`EntryNotFound`."""
        run = self._store.get(RUNS, run_id)
        if run is None:
            raise EntryNotFound("run", run_id)
        return self.read(run.job)


def check_document(text: str) -> Mapping[str, Any]:
    """Return the document in ``text``; raise :class:`InvalidInput` if it is not a JSON object or too long."""
    if len(text) > MAX_DOCUMENT:
        raise InvalidInput(f"The bookmark has {len(text)} characters; {MAX_DOCUMENT} is the maximum.")
    if count_marks(text.encode(errors="replace"), _MAX_VALUES) > _MAX_VALUES:
        raise InvalidInput(f"The bookmark has more than {_MAX_VALUES:,} values.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InvalidInput("The bookmark is not a JSON object.")
    return document


def _committed(bookmark: Bookmark, run_id: str) -> str:
    for name, document in bookmark.history:
        if name == run_id:
            return document
    raise EntryNotFound(f"in the last {_MAX_HISTORY} commits of job {bookmark.job}, run", run_id)

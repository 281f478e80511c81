"""Where a job's bookmark is kept: in the server that started the run, else in a file of the platform's home.

A bookmark is a JSON object with an entry for each ``transformation_ctx``. It is replaced by compare-and-set, so that of two
runs of a job at the same time one fails instead of both reading the same.
"""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from penstock import durable
from penstock.client.connection import open_client, translated_errors
from penstock.client.run_bookmarks import RunBookmarks
from penstock.errors import ConcurrentModification, DataProblem, NotFound

__all__ = ["FOLDER", "BookmarkStore", "FileBookmarks", "ServerBookmarks", "bookmark_store"]

FOLDER = "PENSTOCK_GLUE_BOOKMARKS"
"""Environment variable: the folder of bookmarks that no server keeps."""

_KEPT = 20

Document = Mapping[str, Any]


class BookmarkStore(Protocol):
    """The bookmark of one job."""

    def read(self) -> tuple[Document, int]:
        """Return the document, empty if nothing was committed, and its version."""
        ...

    def commit(self, document: Document, *, version: int) -> int:
        """Replace the document that was read at ``version``; return the new version.

        Raises :class:`ConcurrentModification` if it is at another version by now.
        """
        ...

    def of_run(self, run_id: str) -> Document:
        """Return the document that an earlier run has committed. Raises :class:`NotFound`."""
        ...


@dataclass(frozen=True, slots=True)
class ServerBookmarks:
    """The bookmark of the job whose run this process is, in the server that started it."""

    calls: RunBookmarks
    job: str

    def read(self) -> tuple[Document, int]:
        """See :class:`BookmarkStore`."""
        bookmark = self.calls.read()
        return _parsed(bookmark.document, self.job), bookmark.version

    def commit(self, document: Document, *, version: int) -> int:
        """See :class:`BookmarkStore`."""
        return self.calls.commit(json.dumps(document, separators=(",", ":")), version=version).version

    def of_run(self, run_id: str) -> Document:
        """See :class:`BookmarkStore`."""
        client: Any = open_client("glue")
        with translated_errors(client, f"the bookmark of run {run_id} of job {self.job}"):
            entry = client.get_job_bookmark(JobName=self.job, RunId=run_id)["JobBookmarkEntry"]
        return _parsed(entry.get("JobBookmark", ""), self.job)


@dataclass(frozen=True, slots=True)
class FileBookmarks:
    """The bookmark of a job as a folder of versions, a file each, of which the last are kept. ``run_id`` is this run's.

    A version's file is created once, so that of two commits at one version one fails.
    """

    folder: Path
    job: str
    run_id: str = ""

    def read(self) -> tuple[Document, int]:
        """See :class:`BookmarkStore`."""
        versions = self._versions()
        if not versions:
            return {}, 0
        return self._stored(versions[-1])["document"], versions[-1]

    def commit(self, document: Document, *, version: int) -> int:
        """See :class:`BookmarkStore`."""
        return self._add({"run": self.run_id, "document": document}, version)

    def of_run(self, run_id: str) -> Document:
        """See :class:`BookmarkStore`."""
        for version in reversed(self._versions()):
            stored = self._stored(version)
            if stored["run"] == run_id:
                return stored["document"]  # type: ignore[no-any-return]
        raise NotFound(
            f"The bookmark of job {self.job} has no run {run_id}.", remedy=f"The last {_KEPT} commits and resets are kept."
        )

    def runs(self) -> list[str]:
        """Return the ids of the last runs that committed, oldest first."""
        runs = (self._stored(version)["run"] for version in self._versions())
        return [run for run in dict.fromkeys(runs) if run]

    def reset(self, run_id: str | None = None) -> None:
        """Forget what was read, or what was read since the run ``run_id`` committed. Raises :class:`NotFound`."""
        _, version = self.read()
        self._add({"run": run_id, "document": {} if run_id is None else self.of_run(run_id)}, version)

    @property
    def _home(self) -> Path:
        return self.folder / quote(self.job, safe="")

    def _versions(self) -> list[int]:
        try:
            return sorted(int(file.stem) for file in self._home.iterdir() if file.stem.isdigit())
        except FileNotFoundError:
            return []

    def _stored(self, version: int) -> dict[str, Any]:
        return dict(_parsed((self._home / _name(version)).read_text(), self.job))

    def _add(self, entry: Document, version: int) -> int:
        durable.make_folder(self._home, mode=0o700)
        moved = ConcurrentModification(
            f"The bookmark of job {self.job} was changed by another run since this one began.",
            remedy="Run the job again, one run at a time: it reads what this run has read.",
        )
        versions = self._versions()
        if version != (versions[-1] if versions else 0):
            raise moved
        try:
            with durable.writing(self._home / _name(version + 1), new=True) as file:
                file.write(json.dumps(entry, separators=(",", ":")).encode())
        except FileExistsError:
            raise moved from None
        durable.remove(self._home / _name(old) for old in versions[: 1 - _KEPT])
        return version + 1


def _name(version: int) -> str:
    return f"{version:010d}.json"


def bookmark_store(job: str, run_id: str | None, environment: Mapping[str, str] | None = None) -> BookmarkStore:
    """Return the store of the bookmark of ``job``: the server's, if it has started this run, else a file's."""
    variables = os.environ if environment is None else environment
    calls = RunBookmarks.of_run(variables)
    if calls is not None:
        return ServerBookmarks(calls, job)
    folder = Path(variables[FOLDER]) if variables.get(FOLDER) else Path.home() / ".penstock" / "glue" / "bookmarks"
    return FileBookmarks(folder, job, run_id or f"jr_{uuid.uuid4().hex}")


def _parsed(text: str, job: str) -> Document:
    try:
        document = json.loads(text) if text else {}
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DataProblem(f"The bookmark of job {job} cannot be read.", remedy="Reset it.")
    return document

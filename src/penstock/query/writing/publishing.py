"""The end of a statement that writes: its owner stores the files and changes the catalog, all or nothing.

The steps, each of which a crash can follow:

1. The journal, an object beside the statement's result, says what is about to be stored and how it is taken back.
2. The ledger's ``prepared`` (if there is one) makes readers leave out the files that come.
3. The files are stored, the catalog is changed.
4. ``committed`` makes all files count; the journal says that the statement is done.

From step 1 on the statement cannot be stopped. If a step fails, all is taken back; after a crash
:func:`recover` takes it back, or says that the statement had succeeded.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from penstock.errors import AlreadyExists, InvalidInput, NotFound, PenstockError
from penstock.lake.permitted import PUT_OBJECT
from penstock.query.permitted_catalog import PermittedCatalog
from penstock.query.ports import CatalogChanges, Publication, ResultSink
from penstock.query.task import CatalogChange, Commit
from penstock.sql.errors import StatementError

__all__ = ["Committer", "announce", "file_in", "forget", "recover"]

_log = logging.getLogger("penstock.query")
_JOURNAL = ".journal"


class Committer:
    """Commits one statement, for the caller of ``catalog``. ``began`` is called when it cannot be stopped any more."""

    def __init__(self, catalog: PermittedCatalog, sink: ResultSink, folder: Path, result: str) -> None:
        self._catalog = catalog
        self._sink = sink
        self._folder = folder
        self._journal = f"{result}{_JOURNAL}"

    def run(self, commit: Commit, began: Callable[[], None], hold: Callable[[], None]) -> None:
        """Make all changes, or none. Raises :class:`StatementError` and what ``began`` and ``hold`` raise.

        ``hold`` is called before each step that readers see, and at the end: another process may have taken everything back.
        """
        ends = [pair for pair in (commit.prepared, commit.committed) if pair is not None]
        self._catalog.check_files(PUT_OBJECT, [uri for _, uri in (*commit.files, *ends)], commit.table)
        for operation, request in commit.changes:
            self._catalog.authorize(operation, request)
        began()
        self._write_journal(commit, done=False)
        undone: list[CatalogChange] = []
        try:
            if commit.prepared is not None:
                self._put(commit.prepared)
            hold()
            self._sink.take([(uri, file_in(self._folder, name)) for name, uri in commit.files])
            for operation, request in commit.changes:
                hold()
                self._change(operation, request)
                undone = list(commit.undo)
            if commit.committed is not None:
                hold()
                self._put(commit.committed)
            hold()
            self._write_journal(commit, done=True)
        except BaseException:
            _take_back(commit, undone, self._catalog, self._sink)
            self._sink.remove(self._journal)
            raise
        self._remove_obsolete(commit)

    def _remove_obsolete(self, commit: Commit) -> None:
        home = commit.committed[1].rpartition("/ledger/")[0] if commit.committed is not None else None
        for uri in commit.obsolete:
            if home is not None and uri.startswith(f"{home}/ledger/"):
                with suppress(PenstockError):
                    self._sink.remove(uri)

    def _change(self, operation: str, request: Mapping[str, Any]) -> None:
        try:
            self._catalog.change(operation, request)
        except AlreadyExists as error:
            raise StatementError("TABLE_ALREADY_EXISTS", error.message, remedy=error.remedy) from error
        except NotFound as error:
            raise StatementError("TABLE_NOT_FOUND", error.message, remedy=error.remedy) from error

    def _put(self, file: Publication) -> None:
        name, uri = file
        self._sink.put(uri, file_in(self._folder, name))

    def _write_journal(self, commit: Commit, *, done: bool) -> None:
        file = self._folder / "journal"
        file.write_text(json.dumps({"done": done, **asdict(commit)}), encoding="utf-8")
        self._sink.put(self._journal, file)


def _take_back(commit: Commit, changes: Sequence[CatalogChange], catalog: CatalogChanges, sink: ResultSink) -> None:
    """Undo what was done, as far as possible; what cannot be undone is logged, and no reader counts it."""
    for operation, request in changes:
        try:
            catalog.change(operation, request)
        except NotFound:
            continue
        except PenstockError:
            _log.exception("a failed statement's %s cannot be taken back by %s", commit.changes, operation)
    ends = [pair for pair in (commit.committed, commit.prepared) if pair is not None]
    # The ledger's entry last: until then it keeps readers from the files.
    for _, uri in (*ends[:1], *commit.files, *ends[1:]):
        try:
            sink.remove(uri)
        except PenstockError:
            _log.exception("%s of a failed statement cannot be removed", uri)


def file_in(folder: Path, name: str) -> Path:
    """Return a file of the statement's ``folder``. Raises :class:`InvalidInput` for a name that leads out of it."""
    path = PurePosixPath(name)
    file = folder / path
    if path.is_absolute() or ".." in path.parts or not file.is_file() or file.is_symlink():
        raise InvalidInput(f"{name[:200]} is not a file of the statement.")
    return file


def announce(result: str, sink: ResultSink, folder: Path, request: Mapping[str, Any]) -> None:
    """Journal that a statement's one change of the catalog follows: Glue's ``request`` that gives a table its next metadata.

    Iceberg's commits need no more of a journal: readers see all that they make, or nothing.
    """
    shape = request["TableInput"]
    pointer = {
        "database": request["DatabaseName"],
        "table": shape["Name"],
        "metadata": shape.get("Parameters", {}).get("metadata_location"),
    }
    file = folder / "journal"
    file.write_text(json.dumps({"pointer": pointer}), encoding="utf-8")
    sink.put(f"{result}{_JOURNAL}", file)


def recover(
    result: str, catalog: CatalogChanges, sink: ResultSink, has_metadata: Callable[[str, str, str], bool] = lambda *_: False
) -> bool:
    """Finish for a statement whose owner is gone, by the name of its result: return whether it had succeeded.

    If it had not, what it had stored and changed is taken back. ``has_metadata`` says whether the metadata of a table (its
    database, its name) is that of a file, or was.
    """
    try:
        with sink.open(f"{result}{_JOURNAL}") as file:
            raw = json.loads(file.read())
    except NotFound:
        return False
    if "pointer" in raw:
        pointer = raw["pointer"]
        return has_metadata(pointer["database"], pointer["table"], pointer["metadata"])
    if raw["done"]:
        return True
    commit = msgspec.convert(raw, Commit)
    _take_back(commit, commit.undo, catalog, sink)
    forget(result, sink)
    return False


def forget(result: str, sink: ResultSink) -> None:
    """Remove the journal of a statement whose state is stored."""
    with suppress(PenstockError):
        sink.remove(f"{result}{_JOURNAL}")

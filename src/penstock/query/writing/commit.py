"""What a statement leaves to the process that owns it: files to store and changes of the catalog, to be made as one.

Files that go to places which readers already look at are named after the statement, and a ledger beside the table
(:mod:`penstock.lake.ledger`) says that they do not count yet; one small file ends that for all of them at once.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from penstock.errors import InvalidInput
from penstock.lake.ledger import HIDDEN, Batch, Manifest, Move
from penstock.query.engine.context import ExecutionContext
from penstock.query.task import CatalogChange, Commit, Outcome, milliseconds_since
from penstock.query.writing.partitioned import WrittenFile
from penstock.statements.model import StatementStatistics

__all__ = ["LEDGER", "marked", "outcome", "placed"]

_PREPARED, _COMMITTED = "0000000000.prepared", "0000000000.committed"
_KEPT_SECONDS = 86_400  # longer than any statement runs
_MOST_REMOVED = 100  # entries of ledgers that one statement removes
LEDGER = "sql"
"""The name of the ledger's folder of statements, beside those of pipelines."""


def placed(context: ExecutionContext, files: Sequence[WrittenFile], location: str) -> Sequence[tuple[str, str]]:
    """Return each file's path in the statement's folder and the ``s3://`` name that it gets."""
    folder = context.task.folder
    return [(str(Path(file.path).relative_to(folder)), f"{location.rstrip('/')}/{file.name}") for file in files]


def marked(context: ExecutionContext, commit: Commit, location: str) -> Commit:
    """Return the commit with a ledger entry at the table's ``location``, which readers look at before they count files."""
    query = context.task.id.replace("-", "")
    moves = tuple(Move(staged=name, final=uri, size=0) for name, uri in commit.files)
    data = Manifest(batch=Batch(0, "", ""), moves=moves).to_json()
    (context.task.folder / "manifest").write_bytes(data)
    ledger = f"{location.rstrip('/')}/{HIDDEN}/{LEDGER}/ledger"
    return replace(
        commit,
        prepared=("manifest", f"{ledger}/0000-{query}/{_PREPARED}"),
        committed=("manifest", f"{ledger}/0000-{query}/{_COMMITTED}"),
        obsolete=list(_obsolete(context, ledger)),
    )


def _obsolete(context: ExecutionContext, ledger: str) -> Iterator[str]:
    """Yield entries of statements that were committed so long ago that no reader began before: without them, files count."""
    try:
        old = sorted(context.task.lake.path(ledger).glob(f"*/{_COMMITTED}"))
    except (OSError, InvalidInput):
        return
    latest = time.time() - _KEPT_SECONDS
    for committed in old[:_MOST_REMOVED]:
        try:
            if committed.stat().st_mtime < latest:
                # This order: an entry that is only prepared keeps readers from the files.
                yield from (f"{ledger}/{committed.parent.name}/{name}" for name in (_PREPARED, _COMMITTED))
        except FileNotFoundError:
            continue


def outcome(
    context: ExecutionContext,
    statistics: StatementStatistics,
    rows: int,
    commit: Commit,
    *,
    count: int | None = None,
) -> Outcome:
    """Return the outcome of a statement that wrote ``rows``."""
    engine = milliseconds_since(context.started) - statistics.planning_ms
    written = [uri for _, uri in commit.files]
    return Outcome((), replace(statistics, engine_ms=max(engine, 0)), rows if count is None else count, written, commit)


def change(operation: str, **request: object) -> CatalogChange:
    """Return a change of the catalog."""
    return operation, request

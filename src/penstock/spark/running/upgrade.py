"""Whether a changed pipeline can go on where it was: checked before it starts, and in a dry run without Spark."""

import json

from penstock.errors import DataProblem, InvalidInput
from penstock.lake.files import FileSystem
from penstock.lake.ledger import Ledger
from penstock.pipelines.identity import Change, changes, identity
from penstock.pipelines.model import Pipeline
from penstock.spark.checkpoints import last_commit
from penstock.spark.running.assembly import ledger_of

__all__ = ["check_upgrade", "remember"]


def check_upgrade(files: FileSystem, pipeline: Pipeline) -> list[Change]:
    """Return the changes with which the pipeline can go on, for the user to know.

    Raises :class:`InvalidInput` with all the others, and :class:`DataProblem` for a checkpoint whose ledger is not where
    the declaration says. Reads only.
    """
    ledger = ledger_of(files, pipeline, "")
    if ledger.current_query() is None:
        _check_new(files, pipeline)
        return []
    declared = ledger.declared()
    if declared is None:  # of a release that did not keep it
        return []
    differences = changes(json.loads(declared), identity(pipeline))
    ending = [change for change in differences if not change.resumes]
    if ending:
        sentences = (
            " ".join(f"({number}) {change}" for number, change in enumerate(ending, 1)) if ending[1:] else str(ending[0])
        )
        raise InvalidInput(f"{pipeline.origin}: pipeline {pipeline.name} cannot go on where it was. {sentences}")
    return differences


def _check_new(files: FileSystem, pipeline: Pipeline) -> None:
    number = last_commit(files, pipeline.checkpoint)
    if number is not None:
        raise DataProblem(
            f"{pipeline.origin}: the checkpoint {pipeline.checkpoint} has batches up to {number}, and pipeline "
            f"{pipeline.name} has no ledger at {pipeline.ledger_location}: name or location was changed, or the ledger "
            "was removed.",
            remedy="Undo the change, or name a new checkpoint: the stream then begins at the source's declared start.",
        )


def remember(ledger: Ledger, pipeline: Pipeline) -> None:
    """Keep in the ledger what the next start compares with."""
    declaration = json.dumps(identity(pipeline), sort_keys=True).encode()
    if ledger.declared() != declaration:
        ledger.declare(declaration)

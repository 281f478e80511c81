"""Expectations on rows and batches: counted in the pass that stages the rows, and evaluated after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from penstock.errors import DataProblem
from penstock.pipelines.transforms import Expectation

__all__ = ["FLAG", "ExpectationStop", "Findings", "evaluate", "flagged", "observed"]

FLAG = "_expectation"
"""The column with the name of the first quarantining expectation that a row fails; null for good rows."""


class ExpectationStop(DataProblem):
    """An expectation that stops the stream failed; nothing of the batch was committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """How many rows failed each expectation (of a batch's: 1 or 0), and a sentence for each that warns."""

    failed: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def _fails(expectation: Expectation) -> Column:
    """Return whether a row fails; null counts as a failure."""
    return ~F.coalesce(F.expr(expectation.rows or "true"), F.lit(False))


def flagged(rows: DataFrame, expectations: Sequence[Expectation]) -> DataFrame:
    """Return ``rows`` with :data:`FLAG`."""
    cases = [
        F.when(_fails(expectation), F.lit(expectation.name))
        for expectation in expectations
        if expectation.on_failure == "quarantine"
    ]
    return rows.withColumn(FLAG, F.coalesce(*cases) if cases else F.lit(None).cast("string"))


def observed(rows: DataFrame, expectations: Sequence[Expectation], counts: Observation) -> DataFrame:
    """Return ``rows``; an action on them gives ``counts`` what :func:`evaluate` needs."""
    if not expectations:
        return rows
    return rows.observe(
        counts, *(_measure(expectation).alias(f"e{number}") for number, expectation in enumerate(expectations))
    )


def _measure(expectation: Expectation) -> Column:
    if expectation.rows is not None:
        return F.count(F.when(_fails(expectation), 1))
    return F.when(F.coalesce(F.expr(expectation.batch or "true"), F.lit(False)), 0).otherwise(1)


def evaluate(expectations: Sequence[Expectation], results: Mapping[str, Any], *, where: str) -> Findings:
    """Return the findings of a batch from the observation's ``results``; ``where`` names the batch, for messages.

    Raises :class:`ExpectationStop` if an expectation failed whose ``on_failure`` is ``fail``.
    """
    failed = {expectation.name: int(results[f"e{number}"] or 0) for number, expectation in enumerate(expectations)}
    failing = [expectation for expectation in expectations if failed[expectation.name]]
    for expectation in failing:
        if expectation.on_failure == "fail":
            raise ExpectationStop(
                f"{where}: {_said(expectation, failed[expectation.name])}; nothing of the batch was committed.",
                remedy="Correct the records' producer or the expectation, or declare on_failure: quarantine or warn.",
            )
    warnings = tuple(
        _said(expectation, failed[expectation.name]) for expectation in failing if expectation.on_failure == "warn"
    )
    return Findings(failed={name: count for name, count in failed.items() if count}, warnings=warnings)


def _said(expectation: Expectation, count: int) -> str:
    if expectation.batch is not None:
        return f"expectation {expectation.name} failed: {expectation.batch}"
    rows = "1 row fails" if count == 1 else f"{count:,} rows fail"
    return f"{rows} expectation {expectation.name} ({expectation.rows})"

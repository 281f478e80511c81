"""EvaluateDataQuality: AWS's transform for rulesets on frames.

Source: AWS Glue Developer Guide, "Evaluating data quality for ETL jobs in AWS Glue Studio", "Data quality for ETL jobs".
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from penstock.errors import InvalidInput
from penstock.glue.frames.dynamic_frame import DynamicFrame, DynamicFrameCollection
from penstock.glue.frames.transforms import GlueTransform
from penstock.glue.quality.evaluation import Evaluation, evaluate
from penstock.glue.quality.outcomes import Outcome
from penstock.glue.quality.parsing import parse
from penstock.glue.quality.publishing import earlier_values, publish, read_options
from penstock.glue.quality.rulesets import Analyzer, Condition, Number, Rule, Ruleset
from penstock.glue.sources.listing import check_bucket

__all__ = ["EvaluateDataQuality"]

_OUTCOMES = "Rule STRING, Outcome STRING, FailureReason STRING, EvaluatedMetrics MAP<STRING, DOUBLE>, EvaluatedRule STRING"
_TEXTS = "array<string>"

Frames = Mapping[str, DynamicFrame | DataFrame]


class EvaluateDataQuality(GlueTransform):
    """Evaluates a ruleset in DQDL on a frame; ``apply`` returns the outcomes, ``process_rows`` those of each row, too.

    ``additional_data_sources`` are frames by the names that rules give them. ``publishing_options`` and
    ``additional_options`` are those of :func:`penstock.glue.quality.publishing.read_options`.
    """

    def __call__(
        self,
        frame: DynamicFrame,
        ruleset: str,
        publishing_options: Mapping[str, Any] | None = None,
        additional_options: Mapping[str, Any] | None = None,
        additional_data_sources: Frames | None = None,
        **_: Any,
    ) -> DynamicFrame:
        """Return a frame with a row for each rule: Rule, Outcome, FailureReason, EvaluatedMetrics, EvaluatedRule.

        Raises :class:`penstock.glue.quality.rulesets.RulesetError` for a ruleset that cannot be read.
        """
        run = _Run(frame, ruleset, publishing_options, additional_options, additional_data_sources)
        return run.framed(run.outcomes(), "ruleOutcomes")

    def process_rows(
        self,
        frame: DynamicFrame,
        ruleset: str,
        publishing_options: Mapping[str, Any] | None = None,
        additional_options: Mapping[str, Any] | None = None,
        additional_data_sources: Frames | None = None,
        **_: Any,
    ) -> DynamicFrameCollection:
        """Return the frames ``originalData``, ``ruleOutcomes`` and ``rowLevelOutcomes``.

        The last one is the data with DataQualityRulesPass, DataQualityRulesFail and DataQualityRulesSkip, lists of rules,
        and DataQualityEvaluationResult: Passed if no rule failed. Raises as :meth:`__call__`.
        """
        run = _Run(frame, ruleset, publishing_options, additional_options, additional_data_sources)
        frames = {
            "rowLevelOutcomes": run.framed(run.rows(), "rowLevelOutcomes"),
            "ruleOutcomes": run.framed(run.outcomes(), "ruleOutcomes"),
            "originalData": frame if isinstance(frame, DynamicFrame) else run.framed(frame, "originalData"),
        }
        return DynamicFrameCollection(frames, run.glue_ctx)


class _Run:
    """One evaluation."""

    def __init__(
        self,
        frame: DynamicFrame | DataFrame,
        ruleset: str,
        publishing: Mapping[str, Any] | None,
        additional: Mapping[str, Any] | None,
        sources: Frames | None,
    ) -> None:
        rules = parse(str(ruleset))
        options = read_options(publishing, additional)
        data = _data(frame, "frame")
        if data.isStreaming:
            raise InvalidInput(
                "EvaluateDataQuality cannot evaluate a stream.", remedy="Call it in the function of forEachBatch."
            )
        self.glue_ctx = frame.glue_ctx if isinstance(frame, DynamicFrame) else None
        self._session: SparkSession = data.sparkSession
        if options.prefix is not None:
            check_bucket(self._session, options.prefix)
        data = data.cache() if options.cached else data
        others = {name: _data(source, name) for name, source in (sources or {}).items()}
        started = datetime.now(UTC)
        last = earlier_values(self._session, options)
        measured = _measured(rules) if options.prefix is not None else []
        whole = evaluate(
            Ruleset([*rules.rules, *measured]),
            data,
            others,
            last=lambda rule, count: last(rule.text, count),
            row_level=options.row_level,
        )
        count = len(rules.rules)
        own = {rule.text for rule in rules.rules}
        results = {text: column for text, column in whole.results.items() if text in own}
        self._evaluation = Evaluation(outcomes=whole.outcomes[:count], rows=whole.rows, results=results)
        self._columns = data.columns
        publish(self._session, options, started, self._evaluation.outcomes, _merged(whole.outcomes[count:]))

    def framed(self, frame: DataFrame, name: str) -> DynamicFrame:
        """Return a frame of the script's context."""
        return DynamicFrame.fromDF(frame, self.glue_ctx, name)

    def outcomes(self) -> DataFrame:
        """Return the frame of rule outcomes."""
        rows = [
            (outcome.rule, outcome.status, outcome.reason, dict(outcome.metrics), outcome.evaluated)
            for outcome in self._evaluation.outcomes
        ]
        return self._session.createDataFrame(rows, _OUTCOMES)

    def rows(self) -> DataFrame:
        """Return the data with the results of each row."""
        names = [outcome.rule for outcome in self._evaluation.outcomes]
        results = self._evaluation.results
        passing = [F.when(column, F.lit(name)) for name, column in results.items()]
        failing = [F.when(~column, F.lit(name)) for name, column in results.items()]
        skipped = [F.lit(name) for name in dict.fromkeys(names) if name not in results]
        skipped += [F.when(column.isNull(), F.lit(name)) for name, column in results.items()]
        marked = self._evaluation.rows.withColumns(
            {
                "DataQualityRulesPass": _texts(passing),
                "DataQualityRulesFail": _texts(failing),
                "DataQualityRulesSkip": _texts(skipped),
            }
        )
        failed = F.size("DataQualityRulesFail") > 0
        result = F.when(failed, F.lit("Failed")).otherwise(F.lit("Passed"))
        added = ("DataQualityRulesPass", "DataQualityRulesFail", "DataQualityRulesSkip", "DataQualityEvaluationResult")
        whole = marked.withColumn("DataQualityEvaluationResult", result)
        return whole.select(*(f"`{name.replace('`', '``')}`" for name in self._columns), *added)


def _data(frame: object, name: str) -> DataFrame:
    rows = frame.toDF() if isinstance(frame, DynamicFrame) else frame
    if not isinstance(rows, DataFrame):
        raise InvalidInput(f"EvaluateDataQuality: {name} is a {type(frame).__name__}.", remedy="Give a DynamicFrame.")
    return rows


def _texts(parts: Sequence[Column]) -> Column:
    return F.array_compact(F.array(*parts)).cast(_TEXTS) if parts else F.array().cast(_TEXTS)


_LEAST = float("-inf")


def _measured(ruleset: Ruleset) -> Sequence[Rule]:
    """Return rules that measure what the analyzers ask for; every number fulfils them."""
    return [_measure(analyzer, operator) for analyzer in ruleset.analyzers for operator in _operators(analyzer)]


def _operators(analyzer: Analyzer) -> Sequence[str]:
    return (">=", "<=") if analyzer.type == "ColumnValues" else (">=",)


def _measure(analyzer: Analyzer, operator: str) -> Rule:
    bound = _LEAST if operator == ">=" else -_LEAST
    return Rule(
        type=analyzer.type,
        parameters=analyzer.parameters,
        condition=Condition(operator, (Number(bound),)),  # type: ignore[arg-type]
        text=analyzer.text,
        line=analyzer.line,
        column=analyzer.column,
    )


def _merged(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Return one outcome for each analyzer, with all its metrics."""
    merged: dict[str, Outcome] = {}
    for outcome in outcomes:
        before = merged.get(outcome.rule)
        metrics = {**before.metrics, **outcome.metrics} if before is not None else outcome.metrics
        merged[outcome.rule] = Outcome(rule=outcome.rule, passed=True, metrics=metrics)
    return list(merged.values())

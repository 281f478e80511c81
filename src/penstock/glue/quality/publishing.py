"""Where results go: options of a call, and one JSON document for each evaluation, which dynamic rules read again.

Nothing goes to CloudWatch. Source: AWS Glue Developer Guide, "Evaluating data quality for ETL jobs in AWS Glue Studio"; the
document has the shape of ``GetDataQualityResult``.
"""

import json
import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.errors import InvalidInput
from penstock.glue.quality.outcomes import Outcome

__all__ = ["Options", "earlier_values", "publish", "read_options"]

_log = logging.getLogger("awsglue")
_MOST = 1_000  # earlier documents that are read
_PUBLISHING = frozenset(
    {
        *("dataQualityEvaluationContext", "enableDataQualityCloudWatchMetrics", "enableDataQualityResultsPublishing"),
        *("resultsS3Prefix", "publishingMode"),
    }
)
_ADDITIONAL: Mapping[str, frozenset[str]] = {
    "performanceTuning.caching": frozenset({"CACHE_NOTHING", "CACHE_INPUT"}),
    "observations.scope": frozenset({"NONE", "ALL"}),
    "compositeRuleEvaluation.method": frozenset({"ROW", "DATASET"}),
    "dataQualityResultsPublishing.strategy": frozenset({"BEST_EFFORT", "STRICT"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``prefix`` is where results are written, None for nowhere."""

    context: str = ""
    prefix: str | None = None
    cached: bool = False
    row_level: bool = False


def read_options(publishing: Mapping[str, Any] | None, additional: Mapping[str, Any] | None) -> Options:
    """Return the options of a call. Raises :class:`InvalidInput`; unknown names are logged, as AWS passes over them."""
    publishing, additional = publishing or {}, additional or {}
    for names, options in ((publishing, _PUBLISHING), (additional, _ADDITIONAL)):
        for name in sorted(set(names) - set(options)):
            _log.warning("EvaluateDataQuality: the option %s has no effect.", name)
    for name, values in _ADDITIONAL.items():
        value = str(additional.get(name, min(values))).upper()
        if value not in values:
            raise InvalidInput(
                f"EvaluateDataQuality: {name} is {value[:60]!r}.", remedy=f"Use one of {', '.join(sorted(values))}."
            )
    prefix = publishing.get("resultsS3Prefix")
    if prefix is not None:
        prefix = prefix if "://" in str(prefix) else f"s3://{prefix}"  # AWS's examples have the bucket's name alone
        if re.fullmatch(r"s3[an]?://[^/]+(/.*)?", str(prefix)) is None:
            raise InvalidInput(
                f"EvaluateDataQuality: resultsS3Prefix is {str(prefix)[:200]!r}.", remedy="Write s3://bucket/prefix/."
            )
    return Options(
        context=str(publishing.get("dataQualityEvaluationContext", "")),
        prefix=str(prefix) if prefix is not None else None,
        cached=str(additional.get("performanceTuning.caching", "")).upper() == "CACHE_INPUT",
        row_level=str(additional.get("compositeRuleEvaluation.method", "")).upper() == "ROW",
    )


def publish(
    session: SparkSession, options: Options, started: datetime, outcomes: Sequence[Outcome], analyzers: Sequence[Outcome]
) -> None:
    """Write the results as one line of JSON in a file of its own below the prefix, if there is one."""
    if options.prefix is None:
        return
    document = {
        "ResultId": f"dqresult-{uuid.uuid4().hex}",
        "EvaluationContext": options.context,
        "StartedOn": started.isoformat(),
        "CompletedOn": datetime.now(UTC).isoformat(),
        "Score": sum(outcome.passed for outcome in outcomes) / len(outcomes) if outcomes else 1.0,
        "RuleResults": [
            {
                "Name": f"Rule_{at}",
                "Description": outcome.rule,
                "Result": "PASS" if outcome.passed else "FAIL",
                "EvaluationMessage": outcome.reason,
                "EvaluatedMetrics": dict(outcome.metrics),
                "EvaluatedRule": outcome.evaluated,
            }
            for at, outcome in enumerate(outcomes, start=1)
        ],
        "AnalyzerResults": [
            {"Name": f"Analyzer_{at}", "Description": analyzer.rule, "EvaluatedMetrics": dict(analyzer.metrics)}
            for at, analyzer in enumerate(analyzers, start=1)
        ],
    }
    frame = session.createDataFrame([(json.dumps(document),)], "value STRING")
    frame.coalesce(1).write.mode("append").text(options.prefix)


class earlier_values:  # noqa: N801 - used as a function
    """Returns the metrics of earlier results of a rule, the newest first; the documents are read when first asked for.

    Raises :class:`InvalidInput` if the call has no place of results.
    """

    def __init__(self, session: SparkSession, options: Options) -> None:
        self._session = session
        self._options = options
        self._documents: Sequence[Mapping[str, Any]] | None = None

    def __call__(self, rule: str, count: int) -> Sequence[float]:
        if self._options.prefix is None or not self._options.context:
            raise InvalidInput(
                f"The rule '{rule[:200]}' needs earlier results.",
                remedy="Give publishing_options dataQualityEvaluationContext and resultsS3Prefix.",
            )
        if self._documents is None:
            self._documents = self._read(self._options.prefix)
        values = []
        for document in self._documents:
            results = [
                rule_result for rule_result in document.get("RuleResults", []) if rule_result.get("Description") == rule
            ]
            metrics = list(results[0].get("EvaluatedMetrics", {}).values()) if results else []
            if metrics:
                values.append(float(metrics[0]))
        return values[:count]

    def _read(self, prefix: str) -> Sequence[Mapping[str, Any]]:
        try:
            lines = self._session.read.text(prefix)
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return []
            raise
        documents = [json.loads(row[0]) for row in lines.limit(10 * _MOST).collect()]
        own = [document for document in documents if document.get("EvaluationContext") == self._options.context]
        return sorted(own, key=lambda item: str(item.get("CompletedOn")), reverse=True)[:_MOST]

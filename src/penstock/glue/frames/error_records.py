"""Records that a transform could not process: set aside, counted, and logged while Spark computes the others."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.errors import InvalidInput

__all__ = ["ERROR", "ErrorStage", "StageOptions", "check_thresholds", "error_messages", "too_many", "union_of_errors"]

ERROR = "error"
"""The only column of error records, a struct."""

_log = logging.getLogger("awsglue")
_NAMES = ("transformation_ctx", "info", "stageThreshold", "totalThreshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOptions:
    """The arguments that all of AWS's transforms have. A threshold of 0 never fails a job."""

    transformation_ctx: str = ""
    info: str = ""
    stage_threshold: int = 0
    total_threshold: int = 0

    @classmethod
    def of(cls, positional: Sequence[Any], named: dict[str, Any]) -> "StageOptions":
        """Return the arguments, by position or by name. Raises TypeError for others."""
        if len(positional) > len(_NAMES):
            raise TypeError(f"{len(positional) - len(_NAMES)} arguments too many: the last are {', '.join(_NAMES)}.")
        options = dict(zip(_NAMES, positional, strict=False))
        for name, value in named.items():
            if name not in _NAMES or name in options:
                raise TypeError(f"{name!r} is not an argument here, or is given twice.")
            options[name] = value
        return cls(
            transformation_ctx=options.get("transformation_ctx") or "",
            info=options.get("info") or "",
            stage_threshold=int(options.get("stageThreshold") or 0),
            total_threshold=int(options.get("totalThreshold") or 0),
        )


@dataclass(frozen=True)
class ErrorStage:
    """The errors of one transform: ``records`` makes a frame of ``msg``, ``stackTrace`` and ``input``."""

    name: str
    info: str
    records: Callable[[], DataFrame]

    @cached_property
    def frame(self) -> DataFrame:
        """The error records: one struct, with the transform's name and info."""
        site = F.struct(F.lit(self.name).alias("site"), F.lit(self.info).alias("info"))
        return self.records().select(F.struct(site.alias("callsite"), "msg", "stackTrace", "input").alias(ERROR))

    @cached_property
    def count(self) -> int:
        """Their number; the transform is run for it."""
        return self.frame.count()


def union_of_errors(stages: Sequence[ErrorStage], spark: Any) -> DataFrame:
    """Return the error records of all stages."""
    if stages:
        return reduce(DataFrame.unionByName, (stage.frame for stage in stages))
    data_type = (
        "error STRUCT<callsite: STRUCT<site: STRING, info: STRING>, msg: STRING, stackTrace: ARRAY<STRING>, input: STRING>"
    )
    empty: DataFrame = spark.createDataFrame([], data_type)
    return empty


class _FirstMessage(AccumulatorParam["list[str]"]):
    """Tells of a transform's first error, once, when the first of Spark's tasks that had one is done."""

    def __init__(self, transform: str) -> None:
        self._transform = transform

    def zero(self, value: "list[str]") -> "list[str]":  # noqa: ARG002
        return []

    def addInPlace(self, value1: "list[str]", value2: "list[str]") -> "list[str]":  # noqa: N802
        # This runs on the driver, too, when a task is done; workers have no context.
        if value2 and not value1 and SparkContext._active_spark_context is not None:
            _log.warning(
                "%s: records whose function raised are set aside; the first: %s. See errorsAsDynamicFrame().",
                self._transform,
                value2[0],
            )
        return value1[:1] or value2[:1]


def error_messages(context: SparkContext, transform: str) -> "Accumulator[list[str]]":
    """Return an accumulator for the messages of errors, the first of which is logged."""
    return context.accumulator([], _FirstMessage(transform))


def check_thresholds(stages: Sequence[ErrorStage], options: StageOptions, own: str | None) -> None:
    """Raise :class:`InvalidInput` if the errors of the last stage, or of all, are more than a threshold that is not 0."""
    if options.stage_threshold and own is not None and stages[-1].count > options.stage_threshold:
        raise too_many(own, stages[-1].count, "stageThreshold", options.stage_threshold)
    if options.total_threshold:
        total = sum(stage.count for stage in stages)
        if total > options.total_threshold:
            raise too_many("this frame", total, "totalThreshold", options.total_threshold)


def too_many(where: str, count: int, name: str, threshold: int) -> InvalidInput:
    """Return the error for more error records than a threshold allows."""
    return InvalidInput(
        f"{count} error records of {where} are more than its {name} of {threshold}.",
        remedy="See them with errorsAsDynamicFrame() of a frame without the threshold.",
    )

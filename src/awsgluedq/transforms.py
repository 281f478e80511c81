"""The transform that evaluates rulesets on frames."""

from penstock.spark.glue.quality.transforms import EvaluateDataQuality

__all__ = ["EvaluateDataQuality"]
